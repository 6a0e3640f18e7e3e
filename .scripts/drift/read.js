// What the types of a vendor's SDK name: models, reasons, events, fields of usage. Read from its declarations, without running them.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const responses = 'resources/responses/responses.d.ts';
const messages = 'resources/messages/messages.d.ts';
const google = 'dist/genai.d.ts';

/** Where each package has what this program reads: a file, and the path of a type in it. */
const places = {
  openai: {
    models: ['resources/shared.d.ts', 'ChatModel'],
    'image models': ['resources/images.d.ts', 'ImageModel'],
    efforts: ['resources/shared.d.ts', 'ReasoningEffort'],
    'finish reasons': ['resources/chat/completions/completions.d.ts', 'ChatCompletion.Choice.finish_reason'],
    'incomplete reasons': [responses, 'Response.IncompleteDetails.reason'],
    statuses: [responses, 'ResponseStatus'],
    events: [responses, 'ResponseStreamEvent'],
    'output items': [responses, 'ResponseOutputItem'],
    tiers: [responses, 'Response.service_tier'],
    usage: ['resources/completions.d.ts', 'CompletionUsage'],
    'usage of responses': [responses, 'ResponseUsage'],
    'usage of images': ['resources/images.d.ts', 'ImagesResponse.Usage'],
  },
  '@anthropic-ai/sdk': {
    models: [messages, 'Model'],
    efforts: [messages, 'OutputConfig.effort'],
    'finish reasons': [messages, 'StopReason'],
    events: [messages, 'RawMessageStreamEvent'],
    deltas: [messages, 'RawContentBlockDelta'],
    blocks: [messages, 'ContentBlock'],
    tiers: [messages, 'Usage.service_tier'],
    usage: [messages, 'Usage'],
  },
  '@google/genai': {
    models: [google, 'Model_2'],
    efforts: [google, 'ThinkingLevel'],
    'finish reasons': [google, 'FinishReason'],
    'block reasons': [google, 'BlockedReason'],
    parts: [google, 'Part'],
    tiers: [google, 'ServiceTier'],
    usage: [google, 'GenerateContentResponseUsageMetadata'],
  },
  '@openrouter/sdk': {
    'finish reasons': ['esm/models/chatfinishreasonenum.d.ts', 'ChatFinishReasonEnum'],
    usage: ['esm/models/chatusage.d.ts', 'ChatUsage'],
    costs: ['esm/models/costdetails.d.ts', 'CostDetails'],
  },
};

/** The packages, in the order in which they are told. */
export const packages = Object.keys(places);

/** The names of each kind that a package has in a folder, and the days on which its models end. Throws for a type that is not there. */
export function readFacts(name, folder) {
  const facts = Object.entries(places[name]).map(([kind, [file, path]]) => {
    const names = listNames(parse(join(folder, file)), path.split('.'));
    if (names.length === 0)
      throw new Error(`${name} has no ${path} in ${file}: its place is in .scripts/drift/read.js`);
    return [kind, [...new Set(names)].sort()];
  });
  return { facts: Object.fromEntries(facts), ends: readEnds(folder) };
}

/** The packages that sources name with the version that was read, such as `npm openai 7.57.0`: of each the newest. */
export function listNamedPackages(sources) {
  const named = sources.matchAll(/(?<=[ *]|^)((?:@[\w-]+\/)?[a-z][\w-]+) (\d+\.\d+\.\d+)/gm);
  const newest = new Map();
  for (const [, name, version] of named) if (isNewer(version, newest.get(name) ?? '0.0.0')) newest.set(name, version);
  return newest;
}

/** The lines in the changelog of a package, since a version, about what is gone or goes. */
export function readChanges(folder, since) {
  const path = join(folder, 'CHANGELOG.md');
  let version = '';
  const told = (existsSync(path) ? readFileSync(path, 'utf8') : '').split('\n').flatMap((line) => {
    version = /^#+ \[?v?(\d+\.\d+\.\d+)/.exec(line)?.[1] ?? version;
    if (!isNewer(version, since) || !/\b(?:removed?|deprecated?|until)\b/i.test(line)) return [];
    return [`  ${version}: ${line.replaceAll(/ ?\(\[.*|^[-*] /g, '').slice(0, 200)}`];
  });
  return [...new Set(told)];
}

function isNewer(version, other) {
  return version.localeCompare(other, 'en', { numeric: true }) > 0;
}

function parse(path) {
  return ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
}

/** The names at a path: the values of a type, or the fields of a shape, those of inner shapes behind a dot. */
function listNames(file, path) {
  return resolve(file.statements, path).flatMap((node) => {
    if (ts.isEnumDeclaration(node)) return node.members.map((member) => member.initializer.text);
    return isShape(node) && !ts.isVariableDeclaration(node) ? fieldNames(node, file) : listValues(node.type, file);
  });
}

/** The declarations at a path. A type and a namespace can share a name: one holds fields, the other more types. */
function resolve(statements, [name, ...rest]) {
  const found = statements.flatMap((statement) => {
    const named = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement];
    return named.filter((each) => each.name?.getText() === name);
  });
  if (rest.length === 0) return found.filter((node) => !ts.isModuleDeclaration(node));
  return found.flatMap((node) => {
    if (ts.isModuleDeclaration(node)) return resolve(node.body.statements, rest);
    const field = rest.length === 1 ? findField(node, rest[0]) : undefined;
    return field === undefined ? [] : [field];
  });
}

/** Whether a declaration is a set of fields. */
function isShape(node) {
  return (
    ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node) || (node.type && ts.isTypeLiteralNode(node.type))
  );
}

function listFields(node) {
  const members = [...(node.members ?? node.type?.members ?? [])];
  return members.filter((member) => ts.isPropertySignature(member) || ts.isPropertyDeclaration(member));
}

function findField(node, name) {
  return listFields(node).find((field) => field.name.getText() === name);
}

/** `around`: the shapes that hold this one, for a type can refer to itself. */
function fieldNames(node, file, prefix = '', around = [node]) {
  return listFields(node).flatMap((field) => {
    const name = `${prefix}${field.name.getText()}`;
    const inner = shapesIn(field.type, file).filter((shape) => !around.includes(shape));
    return [name, ...inner.flatMap((shape) => fieldNames(shape, file, `${name}.`, [...around, shape]))];
  });
}

/** The shapes in a type, and those of the same file that it refers to. */
function shapesIn(type, file) {
  if (type === undefined) return [];
  if (ts.isTypeLiteralNode(type)) return [type];
  if (ts.isArrayTypeNode(type)) return shapesIn(type.elementType, file);
  if (ts.isUnionTypeNode(type)) return type.types.flatMap((each) => shapesIn(each, file));
  if (!ts.isTypeReferenceNode(type)) return [];
  if (type.typeName.getText() === 'Array') return shapesIn(type.typeArguments[0], file);
  return referred(type, file).filter(isShape);
}

function referred(type, file) {
  return resolve(file.statements, type.typeName.getText().split('.'));
}

/** The texts that a type allows; of a shape that has a `type`, those of that. */
function listValues(type, file, seen = new Set()) {
  if (type === undefined) return [];
  if (ts.isLiteralTypeNode(type)) return ts.isStringLiteral(type.literal) ? [type.literal.text] : [];
  if (ts.isUnionTypeNode(type)) return type.types.flatMap((each) => listValues(each, file, seen));
  if (ts.isTypeLiteralNode(type)) return type.members.flatMap((member) => listValues(member.type, file, seen));
  if (!ts.isTypeReferenceNode(type) || seen.has(type.getText())) return [];
  seen.add(type.getText());
  return referred(type, file).flatMap((node) =>
    listValues(isShape(node) ? findField(node, 'type')?.type : node.type, file, seen),
  );
}

/** The day on which a model ends, by its name: OpenAI says it in comments, Anthropic in a file, Google not at all. */
function readEnds(folder) {
  const ends = {};
  for (const file of ['resources/shared.d.ts', 'resources/images.d.ts'].map((name) => join(folder, name))) {
    const comments = existsSync(file) ? readFileSync(file, 'utf8').replaceAll(/\s*\n\s*\*\s*/g, ' ') : '';
    for (const [, names, day] of comments.matchAll(/((?:"[^"]+",? ?)+): Announced shutdown date: (\d{4}-\d{2}-\d{2})/g))
      for (const [, model] of names.matchAll(/"([^"]+)"/g)) ends[model] = day;
  }
  const deprecated = join(folder, 'internal/data/deprecated-models.js');
  const list = existsSync(deprecated) ? readFileSync(deprecated, 'utf8') : '';
  for (const [, model, day, year] of list.matchAll(/'([^']+)': '(\w+ \d+)(?:st|nd|rd|th), (\d{4})'/g))
    ends[model] = new Date(`${day}, ${year} UTC`).toISOString().slice(0, 10);
  return ends;
}
