# Image of the Big Peer server. deploy/README.md shows how to use it.

# Installs exactly what package-lock.json names, builds, and keeps what the server needs to run.
FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY . .
RUN npm ci --no-audit --no-fund \
  && npm run build \
  && node scripts/docs.mjs build \
  && npm prune --omit=dev --no-audit --no-fund \
  && mkdir -p /app \
  && cp -R --parents LICENSE package.json node_modules packages/*/package.json packages/*/dist /app \
  && find /app/packages -name .tsbuildinfo -delete \
  && install -d -o 10001 -g 10001 -m 0700 /data

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="Big Peer" \
  org.opencontainers.image.description="An open sync server for offline-first applications" \
  org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /app
COPY --from=build /app /app
# A new volume gets the owner of this folder.
COPY --from=build --chown=10001:10001 /data /data
# The data folder is inside the volume, because `restore` cannot replace a mount point.
ENV NODE_ENV=production \
  BIGPEER_DATA_DIR=/data/bigpeer \
  BIGPEER_BACKUP_DIR=/data/backups \
  BIGPEER_HOST=0.0.0.0
USER 10001:10001
VOLUME ["/data"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.BIGPEER_PORT || 8080}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# No shell and no npm in between: the server itself gets SIGTERM.
ENTRYPOINT ["node", "--max-semi-space-size=32", "packages/bigpeer/dist/main.js"]
CMD ["start"]
