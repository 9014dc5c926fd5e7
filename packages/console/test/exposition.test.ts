/**
 * The metrics of the server as the page reads them.
 */
import { expect, test } from "vitest";
import { readExposition } from "../src/pages/operations/exposition.ts";

const TEXT = `# HELP up Whether it is up.
# TYPE up gauge
up 1
# HELP requests_total Requests answered.
# TYPE requests_total counter
requests_total{operation="find",status="200"} 12345
requests_total{operation="a \\"b\\"",status="400"} 0.25
# HELP time_seconds How long.
# TYPE time_seconds histogram
time_seconds_bucket{le="0.1",operation="find"} 50
time_seconds_bucket{le="0.2",operation="find"} 100
time_seconds_bucket{le="+Inf",operation="find"} 100
time_seconds_sum{operation="find"} 9
time_seconds_count{operation="find"} 100
time_seconds_bucket{le="0.1",operation="count"} 0
time_seconds_bucket{le="+Inf",operation="count"} 0
time_seconds_sum{operation="count"} 0
time_seconds_count{operation="count"} 0
`;

test("families have their help, and samples their labels and values", () => {
  const [up, requests] = readExposition(TEXT);
  expect(up).toEqual({
    name: "up",
    type: "gauge",
    help: "Whether it is up.",
    samples: [{ labels: "", value: "1" }],
  });
  expect(requests?.samples).toEqual([
    { labels: "operation=find status=200", value: "12,345" },
    { labels: 'operation=a \\"b\\" status=400', value: "0.25" },
  ]);
});

test("a histogram is summed up for each of its labels", () => {
  const time = readExposition(TEXT).find(({ name }) => name === "time_seconds");
  const [find, count] = time?.samples ?? [];
  expect(find?.labels).toBe("operation=find");
  expect(find?.value).toBe("100");
  expect(find?.distribution).toMatchObject({ count: 100, mean: 0.09, median: 0.1 });
  expect(find?.distribution?.p99).toBeCloseTo(0.198);
  expect(count?.distribution).toEqual({
    count: 0,
    mean: undefined,
    median: undefined,
    p99: undefined,
  });
});

test("values of the last bucket count as its lower limit", () => {
  const text = `# TYPE t histogram
t_bucket{le="1"} 1
t_bucket{le="+Inf"} 10
t_sum 100
t_count 10
`;
  const [family] = readExposition(text);
  expect(family?.samples[0]?.distribution?.p99).toBe(1);
});
