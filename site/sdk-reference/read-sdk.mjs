/**
 * The public symbols of the SDK as data: what index.ts exports, with the members, signatures and
 * doc comments of each.
 *
 * A type is shown as the source writes it. If the source names a type that is not exported, it is
 * shown as the compiler resolves it.
 */

import { relative } from "node:path";
import { parseDocComment } from "./doc-comment.mjs";
import { DESCRIBED_ELSEWHERE } from "./pages.mjs";
import { ENTRY, ROOT } from "./sdk-program.mjs";

const NO_DOC = parseDocComment("/** */", 1);

/**
 * The exported symbols, in the order of their names; and complaints about types in their signatures
 * that apps cannot import.
 */
export function readSdk(ts, program) {
  const reader = new SdkReader(ts, program);
  return { symbols: reader.read(), complaints: reader.complaints };
}

class SdkReader {
  #ts;
  #checker;
  #program;
  #printer;
  /** Exported symbols, by what they are exported as. */
  #exported = new Map();
  complaints = [];

  constructor(ts, program) {
    this.#ts = ts;
    this.#program = program;
    this.#checker = program.getTypeChecker();
    this.#printer = ts.createPrinter({ removeComments: true });
  }

  read() {
    const entry = this.#program.getSourceFiles().find((file) => pathOf(file) === ENTRY);
    const found = this.#checker.getExportsOfModule(this.#checker.getSymbolAtLocation(entry));
    for (const symbol of found) this.#exported.set(symbol.name, this.#targetOf(symbol));
    return found
      .map((symbol) => this.#readSymbol(symbol))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  #targetOf(symbol) {
    const isAlias = (symbol.flags & this.#ts.SymbolFlags.Alias) !== 0;
    return isAlias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  #readSymbol(symbol) {
    const ts = this.#ts;
    const target = this.#targetOf(symbol);
    const [declaration] = target.declarations ?? [];
    if (declaration === undefined) throw new Error(`expected a declaration of ${symbol.name}`);
    const common = { name: symbol.name, ...this.#described(declaration) };
    if (ts.isFunctionDeclaration(declaration)) {
      const signatures = this.#signaturesOf(target.declarations);
      return { ...common, kind: "function", signatures, members: [] };
    }
    if (ts.isClassDeclaration(declaration)) {
      const isValue = !this.#isTypeOnly(symbol);
      const members = declaration.members.filter((member) => this.#isPublic(member, isValue));
      const kind = isValue ? "class" : "interface";
      return { ...common, ...this.#headOf(declaration), kind, members: this.#group(members) };
    }
    if (ts.isInterfaceDeclaration(declaration)) {
      const members = this.#group(declaration.members);
      return { ...common, ...this.#headOf(declaration), kind: "interface", members };
    }
    if (ts.isTypeAliasDeclaration(declaration)) return { ...common, ...this.#alias(declaration) };
    throw new Error(`expected a function, class, interface or type as ${symbol.name}`);
  }

  /** Whether apps get the type alone, and so neither constructor nor static members. */
  #isTypeOnly(symbol) {
    return (symbol.declarations ?? []).some(
      (node) =>
        this.#ts.isExportSpecifier(node) && (node.isTypeOnly || node.parent.parent.isTypeOnly),
    );
  }

  #isPublic(member, isValue) {
    const ts = this.#ts;
    if (ts.isConstructorDeclaration(member)) return isValue;
    if (member.name === undefined || ts.isPrivateIdentifier(member.name)) return false;
    const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected | ts.ModifierFlags.Static;
    return (ts.getCombinedModifierFlags(member) & hidden) === 0;
  }

  /** Type parameters and supertypes. */
  #headOf({ typeParameters, heritageClauses }) {
    const parents = (heritageClauses ?? [])
      .filter(({ token }) => token === this.#ts.SyntaxKind.ExtendsKeyword)
      .flatMap(({ types }) => types.map((type) => this.#print(type)));
    return { typeParameters: this.#parametersOf(typeParameters), parents };
  }

  #parametersOf(typeParameters = []) {
    if (typeParameters.length === 0) return "";
    return `<${typeParameters.map((parameter) => this.#print(parameter)).join(", ")}>`;
  }

  #alias(declaration) {
    const ts = this.#ts;
    const typeParameters = this.#parametersOf(declaration.typeParameters);
    const type = this.#checker.getTypeAtLocation(declaration.name);
    if (this.#isPart(declaration.type)) {
      const declarations = type
        .getProperties()
        .flatMap((property) => property.declarations ?? [])
        .toSorted((a, b) => a.pos - b.pos);
      return { kind: "interface", typeParameters, parents: [], members: this.#group(declarations) };
    }
    const literals = this.#alternativesOf(declaration.type).filter((node) =>
      ts.isTypeLiteralNode(node),
    );
    const members = literals.flatMap((node) => node.members).filter((node) => !this.#isNever(node));
    const definition = this.#typeText(declaration.type);
    return { kind: "type", typeParameters, definition, members: this.#group(members) };
  }

  /** `Omit<Class, …>` or `Pick<Class, …>` of a class that is not exported: its members count. */
  #isPart(node) {
    const ts = this.#ts;
    if (!ts.isTypeReferenceNode(node) || !/^(Omit|Pick)$/.test(node.typeName.getText()))
      return false;
    return this.#hiddenNames(node.typeArguments?.[0]).length > 0;
  }

  #alternativesOf(node) {
    return this.#ts.isUnionTypeNode(node) ? node.types : [node];
  }

  #isNever({ type }) {
    return type?.kind === this.#ts.SyntaxKind.NeverKeyword;
  }

  /** One member for each name, with all signatures of a method. */
  #group(declarations) {
    const byName = new Map();
    for (const node of declarations) {
      const name = this.#nameOf(node);
      byName.set(name, [...(byName.get(name) ?? []), node]);
    }
    return [...byName].map(([name, nodes]) => this.#member(name, nodes));
  }

  #nameOf(node) {
    const ts = this.#ts;
    if (ts.isConstructorDeclaration(node)) return "constructor";
    if (ts.isIndexSignatureDeclaration(node)) return `[${this.#print(node.parameters[0])}]`;
    return node.name.getText();
  }

  #member(name, nodes) {
    const ts = this.#ts;
    const [node] = nodes;
    const common = { name, ...this.#described(node) };
    const isMethod =
      ts.isMethodDeclaration(node) ||
      ts.isMethodSignature(node) ||
      ts.isConstructorDeclaration(node);
    if (isMethod) return { ...common, signatures: this.#signaturesOf(nodes) };
    return {
      ...common,
      type: this.#typeText(node.type),
      isOptional: node.questionToken !== undefined,
      signatures: [],
    };
  }

  /** Of overloads, the implementation is not for callers. */
  #signaturesOf(declarations) {
    const overloads = declarations.filter(({ body }) => body === undefined);
    const shown = overloads.length > 0 ? overloads : declarations;
    return shown.map((node) => {
      const parameters = node.parameters.map((parameter) => ({
        name: parameter.name.getText(),
        type: this.#typeText(parameter.type),
        isOptional: parameter.questionToken !== undefined || parameter.initializer !== undefined,
      }));
      const name = this.#ts.isConstructorDeclaration(node)
        ? `new ${node.parent.name.text}`
        : node.name.getText();
      const typeParameters = this.#parametersOf(node.typeParameters);
      const returns = node.type === undefined ? "" : this.#typeText(node.type);
      return { name, typeParameters, parameters, returns, ...this.#described(node) };
    });
  }

  /** Place and doc comment of a declaration. */
  #described(node) {
    const file = node.getSourceFile();
    const comment = this.#ts.getJSDocCommentsAndTags(node).findLast(this.#ts.isJSDoc);
    return {
      path: pathOf(file),
      line: lineAt(file, node.getStart()),
      doc:
        comment === undefined
          ? NO_DOC
          : parseDocComment(file.text.slice(comment.pos, comment.end), lineAt(file, comment.pos)),
    };
  }

  #typeText(node) {
    const hidden = this.#hiddenNames(node);
    if (hidden.length === 0) return this.#print(node);
    const { NoTruncation, InTypeAlias } = this.#ts.TypeFormatFlags;
    const type = this.#checker.getTypeFromTypeNode(node);
    const text = this.#checker.typeToString(type, undefined, NoTruncation | InTypeAlias);
    const file = node.getSourceFile();
    for (const name of hidden.filter((each) => new RegExp(`\\b${each}\\b`).test(text))) {
      const place = `${pathOf(file)}:${lineAt(file, node.getStart())}`;
      this.complaints.push(`${place}: ${name} is in a public signature and is not exported`);
    }
    return text;
  }

  /** Names of our own types that apps cannot import. */
  #hiddenNames(node) {
    const ts = this.#ts;
    const found = [];
    const visit = (inner) => {
      if (ts.isIdentifier(inner) && this.#isHidden(inner)) found.push(inner.text);
      ts.forEachChild(inner, visit);
    };
    if (node !== undefined) visit(node);
    return found;
  }

  #isHidden(identifier) {
    const ts = this.#ts;
    const symbol = this.#checker.getSymbolAtLocation(identifier);
    const target = symbol && this.#targetOf(symbol);
    const named = ts.SymbolFlags.Type | ts.SymbolFlags.Value;
    const local = ts.SymbolFlags.TypeParameter | ts.SymbolFlags.Property | ts.SymbolFlags.Method;
    if (target === undefined || (target.flags & named) === 0 || (target.flags & local) !== 0) {
      return false;
    }
    if (DESCRIBED_ELSEWHERE.has(target.name) || this.#isParameter(target)) return false;
    const isOurs = (target.declarations ?? []).some((each) => isOwnFile(each.getSourceFile()));
    return isOurs && ![...this.#exported.values()].includes(target);
  }

  /** A parameter of a function type, which has a name of its own. */
  #isParameter(target) {
    return (target.declarations ?? []).every((node) => this.#ts.isParameter(node));
  }

  #print(node) {
    const { Unspecified } = this.#ts.EmitHint;
    return this.#printer
      .printNode(Unspecified, node, node.getSourceFile())
      .replaceAll("    ", "  ");
  }
}

function isOwnFile({ fileName }) {
  return fileName.startsWith(`${ROOT}packages/`);
}

function pathOf({ fileName }) {
  return relative(ROOT, fileName).replaceAll("\\", "/");
}

function lineAt(file, position) {
  return file.getLineAndCharacterOfPosition(position).line + 1;
}
