import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseSync, Visitor } from 'rolldown/utils';
import { expect, test } from 'vitest';

const src = join(import.meta.dirname, '../src');

/** The layers below those of the command line. */
const beneath = [
  'recordings',
  'chat',
  'client',
  'cost',
  'recovery',
  'images',
  'settings',
  'terminal',
  'files',
  'formats',
  'transport',
];

/**
 * Which rooms a room may import: a folder of src, a folder of src/cli, or a file beside them. Files of types alone are open to
 * all, and so is what `open` names.
 */
const allowed: Record<string, readonly string[]> = {
  'main.ts': ['cli/run.ts', 'terminal'],
  'index.ts': ['client', 'scan/json-scan.ts', 'transport/gate.ts'],
  testing: ['gateway', 'recordings', 'images'],
  man: ['cli/cli.ts', 'cli/shipped.ts', 'cli/help', 'terminal'],
  commands: [
    'cli/shipped.ts',
    'cli/run',
    'cli/request',
    'cli/output',
    'cli/input',
    'cli/flags',
    'cli/help',
    'batch',
    'gateway',
    ...beneath,
  ],
  batch: beneath,
  'cli/run.ts': [
    'cli/cli.ts',
    'cli/command-tree.ts',
    'cli/command-words.ts',
    'cli/run',
    'cli/output',
    'cli/input',
    'cli/help',
    'terminal',
  ],
  'cli/cli.ts': ['cli/command-tree.ts', 'cli/command-words.ts', 'cli/mistake.ts', 'cli/flags', 'cli/help'],
  'cli/command-words.ts': ['cli/command-tree.ts', 'cli/help'],
  'cli/mistake.ts': ['cli/command-words.ts', 'cli/run', 'cli/flags', 'cli/help'],
  'cli/command-tree.ts': ['commands'],
  'cli/context.ts': beneath,
  'cli/shipped.ts': [],
  'cli/run': ['cli/request', 'cli/output', 'cli/input', 'cli/flags', 'cli/help', 'gateway', ...beneath],
  'cli/request': ['cli/input', 'cli/flags', ...beneath],
  'cli/output': [
    'cli/flags',
    'client',
    'cost',
    'files',
    'images',
    'settings',
    'terminal',
    'formats',
    'transport/request.ts',
  ],
  'cli/input': ['cli/shipped.ts', 'cli/flags', 'files', 'images', 'settings', 'terminal', 'formats'],
  'cli/flags': ['chat', 'images', 'settings'],
  'cli/help': ['cli/command-tree.ts', 'cli/shipped.ts', 'cli/flags', 'terminal'],
  recordings: ['files'],
  chat: ['files', 'settings'],
  client: ['formats', 'transport', 'images', 'files', 'scan'],
  cost: ['formats', 'files'],
  recovery: ['files', 'scan'],
  gateway: ['images', 'formats'],
  images: ['files', 'scan'],
  transport: ['scan'],
  scan: ['files'],
  settings: ['files', 'transport/request.ts'],
  terminal: ['files'],
  formats: [],
  files: [],
  vendors: [],
};
const open = new Set([
  'formats/format.ts',
  'formats/request-fields.ts',
  'advice-words.ts',
  'reasons.ts',
  'clock.ts',
  'closest.ts',
  'long-lists.ts',
  'find-own.ts',
  'csv.ts',
  'document-key.ts',
  'errors.ts',
  'json-position.ts',
  'json.ts',
  'request-key.ts',
  'shell-word.ts',
  'body.ts',
  'version.ts',
]);

const texts = new Map(
  readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => [name, readFileSync(join(src, name), 'utf8')]),
);
const files = [...texts.keys()];

function layerOf(file: string): string {
  const [room = '', below = ''] = file.split('/');
  return room === 'cli' ? `cli/${below}` : room;
}

function importsOf(file: string): { target: string; typeOnly: boolean }[] {
  const found = (texts.get(file) ?? '').matchAll(
    /^\s*(import|export)( type)?\b[^;]*?from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm,
  );
  return [...found].map((match) => ({
    target: posix.normalize(posix.join(posix.dirname(file), match[3] ?? match[4] ?? '')),
    typeOnly: match[2] !== undefined,
  }));
}

function mayImport(from: string, target: string, typeOnly: boolean): boolean {
  const layer = layerOf(target);
  if (layer === layerOf(from) || layer === 'vendors' || open.has(target)) return true;
  const list = allowed[layerOf(from)] ?? [];
  return list.includes(layer) || list.includes(target) || (typeOnly && isTypes(target));
}

function isTypes(target: string): boolean {
  return (
    target.endsWith('types.ts') ||
    ['cli/context.ts', 'client/index.ts', 'formats/plain-request.ts', 'formats/events.ts', 'terminal/io.ts'].includes(
      target,
    )
  );
}

/** The walls: what no file of a room may import, not even its types. */
const walls: readonly [rule: string, room: RegExp, target: RegExp][] = [
  [
    'the command line and batches know the client by its index alone',
    /^(?:cli|commands|batch|terminal)\//,
    /^client\/(?!index\.ts$)/,
  ],
  ['the local gateway knows neither the client nor the command line', /^gateway\//, /^(?:client|cli|commands|batch)\//],
  [
    'the client knows nobody who uses it',
    /^client\//,
    /^(?:cli|commands|batch|gateway|testing|recordings|cost|settings|terminal)\//,
  ],
  [
    'formats are pure: they know no connection, no file and nobody who uses them',
    /^formats\//,
    /^(?:client|transport|cli|commands|batch|gateway|files|images|settings|terminal|recordings|cost)\//,
  ],
  ['errors know no service and no words of a hint', /^errors\.ts$/, /^(?:vendors\/|advice-words\.ts$)/],
];

test.each(walls)('%s', (_, room, target) => {
  const through = files
    .filter((file) => room.test(file))
    .flatMap((file) =>
      importsOf(file).flatMap((each) => (target.test(each.target) ? [`${file} → ${each.target}`] : [])),
    );
  expect(through).toEqual([]);
});

test('errors take of hints the names of reasons alone, which are types', () => {
  expect(importsOf('errors.ts')).toEqual([{ target: 'reasons.ts', typeOnly: true }]);
});

test('every folder has a rule', () => {
  expect([...new Set(files.map(layerOf))].filter((layer) => !(layer in allowed) && !open.has(layer))).toEqual([]);
});

test('every file imports only what its layer may', () => {
  const wrong = files.flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => !target.startsWith('..'))
      .filter(({ target, typeOnly }) => !mayImport(file, target, typeOnly))
      .map(({ target }) => `${file} → ${target}`),
  );
  expect(wrong).toEqual([]);
});

test('the engine of batches imports nothing of the command line, not even a type', () => {
  const isOfCommandLine = ({ target }: ReturnType<typeof importsOf>[number]): boolean =>
    /^(?:cli|commands)\//.test(target);
  const engine = files.filter((file) => file.startsWith('batch/'));
  expect(engine.filter((file) => importsOf(file).some(isOfCommandLine))).toEqual([]);
});

test('whoever is not of the engine of batches knows it by its index alone', () => {
  const isBelowIndex = ({ target }: ReturnType<typeof importsOf>[number]): boolean =>
    target.startsWith('batch/') && target !== 'batch/index.ts';
  const others = files.filter((file) => !file.startsWith('batch/'));
  expect(others.filter((file) => importsOf(file).some(isBelowIndex))).toEqual([]);
});

const usersOfGateway = /^(?:gateway|testing|commands\/serve)\/|^cli\/run\/offline\.ts$/;

test('only serve, --offline and the gateway for tests use the local gateway', () => {
  const isGateway = ({ target, typeOnly }: ReturnType<typeof importsOf>[number]): boolean =>
    target.startsWith('gateway/') && !typeOnly;
  const users = files.filter((file) => importsOf(file).some(isGateway));
  expect(users.filter((file) => !usersOfGateway.test(file))).toEqual([]);
});

test('only main.ts and the terminal use the process, the console and what colours it', () => {
  const uses = [...texts].flatMap(([file, text]) => {
    if (file === 'main.ts' || layerOf(file) === 'terminal') return [];
    const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
    const use = /(?<![.\w])process\.|(?<![.\w'])console\.|from '(chalk|ora)'|import\('(chalk|ora)'\)/.exec(code);
    return use === null ? [] : [`${file}: ${use[0]}`];
  });
  expect(uses).toEqual([]);
});

/** The texts of strings and templates, not those of comments. */
function literalsOf(file: string): string[] {
  const found: string[] = [];
  const visitor = new Visitor({
    Literal: ({ value }) => void (typeof value === 'string' && found.push(value)),
    TemplateElement: ({ value }) => void found.push(value.cooked ?? value.raw),
  });
  visitor.visit(parseSync(file, texts.get(file) ?? '').program);
  return found;
}

/** Every flag of the program; a style sheet's `--gap` is not a flag. */
const flags = new Set(
  files
    .filter((file) => file.startsWith('cli/') || file === 'commands/batch/flags.ts')
    .flatMap((file) => literalsOf(file).flatMap(longFlagsIn)),
);

function longFlagsIn(text: string): string[] {
  return text.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? [];
}

/** Settings say where a value came from (`flag --model`), and check what the flags hold; fields of a request have their flags in their rows. */
const flagless = files.filter(
  (file) => beneath.includes(layerOf(file)) && layerOf(file) !== 'settings' && file !== 'formats/request-fields.ts',
);

test('no file beneath the command line names a flag', () => {
  expect(flags).toContain('--model');
  const named = flagless.flatMap((file) =>
    literalsOf(file)
      .flatMap(longFlagsIn)
      .filter((word) => flags.has(word))
      .map((word) => `${file}: ${word}`),
  );
  expect(named).toEqual([]);
});
