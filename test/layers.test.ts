import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseSync, Visitor } from 'rolldown/utils';
import { expect, test } from 'vitest';

const src = join(import.meta.dirname, '../src');
const texts = new Map(
  readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => [name, readFileSync(join(src, name), 'utf8')]),
);
const files = [...texts.keys()];

/** The rooms and the files beside them, with the rooms whose doors they may use. */
const rooms: Record<string, readonly string[]> = {
  library: [],
  batch: ['library'],
  gateway: ['library'],
  cli: ['library', 'batch', 'gateway'],
  'main.ts': ['library', 'cli'],
  'index.ts': [],
};

/** What is used past a door: the wire formats by the gateway, which has their other side, and all of the library by its users' door. */
const pastDoors: readonly [from: RegExp, target: RegExp][] = [
  [/^gateway\//, /^library\/formats\//],
  [/^index\.ts$/, /^library\/(?!index\.ts$)/],
];

/**
 * Which others of its room a folder may import, or a file that lies in the room itself. Files of types alone are open to all of a
 * room, and so is what `open` names. Batch and gateway have no layers.
 */
const layers: Record<string, Record<string, readonly string[]>> = {
  library: {
    'index.ts': ['recordings', 'client', 'cost', 'recovery', 'images', 'transport', 'scan', 'formats', 'files'],
    recordings: ['files'],
    client: ['formats', 'transport', 'images', 'files', 'scan'],
    cost: ['formats', 'files'],
    recovery: ['files', 'scan'],
    images: ['files', 'scan'],
    transport: ['scan'],
    scan: ['files'],
    formats: [],
    files: [],
    vendors: [],
  },
  cli: {
    'index.ts': ['run.ts', 'terminal'],
    man: ['cli.ts', 'shipped.ts', 'help', 'terminal'],
    commands: ['shipped.ts', 'run', 'request', 'output', 'input', 'flags', 'help', 'chat', 'settings', 'terminal'],
    'run.ts': ['cli.ts', 'command-tree.ts', 'command-words.ts', 'run', 'output', 'input', 'help', 'terminal'],
    'cli.ts': ['command-tree.ts', 'command-words.ts', 'mistake.ts', 'flags', 'help'],
    'command-words.ts': ['command-tree.ts', 'help'],
    'mistake.ts': ['command-words.ts', 'run', 'flags', 'help'],
    'command-tree.ts': ['commands'],
    'context.ts': ['chat', 'settings', 'terminal'],
    'shipped.ts': [],
    run: ['request', 'output', 'input', 'flags', 'help', 'chat', 'settings', 'terminal'],
    request: ['input', 'flags', 'chat', 'settings', 'terminal'],
    output: ['flags', 'settings', 'terminal'],
    input: ['shipped.ts', 'flags', 'settings', 'terminal'],
    flags: ['chat', 'settings'],
    help: ['command-tree.ts', 'shipped.ts', 'flags', 'terminal'],
    chat: ['settings'],
    settings: [],
    terminal: [],
  },
};
/** Beside the files that lie in the library itself, and the facts of the vendors. */
const open = new Set(['library/formats/format.ts', 'library/formats/request-fields.ts']);
const types =
  /types\.ts$|^cli\/context\.ts$|^library\/client\/result\.ts$|^library\/formats\/(?:plain-request|events)\.ts$|^cli\/terminal\/io\.ts$/;

interface Import {
  target: string;
  /** The names that are imported; undefined if the module is imported late, as a whole. */
  names: string[] | undefined;
  isType: boolean;
}

const imports = new Map(files.map((file) => [file, readImports(file)]));

function readImports(file: string): Import[] {
  const found: Import[] = [];
  const add = (from: string, names?: string[], isType = false): void => {
    const target = posix.normalize(posix.join(posix.dirname(file), from));
    if (from.startsWith('.') && !target.startsWith('..')) found.push({ target, names, isType });
  };
  const nameOf = (node: { type: string; name?: string }): string => node.name ?? node.type;
  const visitor = new Visitor({
    ImportDeclaration: ({ source, specifiers, importKind }) => {
      const names = specifiers.map((each) => nameOf('imported' in each ? each.imported : each));
      add(source.value, names, importKind === 'type');
    },
    ExportNamedDeclaration: ({ source, specifiers, exportKind }) => {
      if (source)
        add(
          source.value,
          specifiers.map(({ local }) => nameOf(local)),
          exportKind === 'type',
        );
    },
    ExportAllDeclaration: ({ source }) => add(source.value, ['*']),
    ImportExpression: ({ source }) => {
      if (source.type === 'Literal') add(String(source.value));
    },
    TSImportType: ({ source }) => add(source.value, undefined, true),
  });
  visitor.visit(parseSync(file, texts.get(file) ?? '').program);
  return found;
}

function importsOf(file: string): readonly Import[] {
  return imports.get(file) ?? [];
}

/** The imports of files that go somewhere they may not, as `from → target`. */
function listWrong(from: readonly string[], isWrong: (file: string, each: Import) => boolean): string[] {
  return from.flatMap((file) =>
    importsOf(file).flatMap((each) => (isWrong(file, each) ? [`${file} → ${each.target}`] : [])),
  );
}

/** The folder of src, or the file beside the folders. */
function roomOf(file: string): string {
  return file.split('/')[0] ?? '';
}

/** The folder in a room, or the file beside its folders. */
function layerOf(file: string): string {
  return file.split('/')[1] ?? '';
}

test('every file is in a room, or one of two beside them', () => {
  expect(files.filter((file) => !(roomOf(file) in rooms))).toEqual([]);
});

test('a room uses of another what its door names', () => {
  const isPast = (file: string, { target }: Import): boolean => {
    const room = roomOf(target);
    if (room === roomOf(file) || pastDoors.some(([from, to]) => from.test(file) && to.test(target))) return false;
    return target !== `${room}/index.ts` || rooms[roomOf(file)]?.includes(room) !== true;
  };
  expect(listWrong(files, isPast)).toEqual([]);
});

test.each(['library', 'batch', 'gateway', 'cli'])(
  'the door of %s names what is used beyond it, and nothing else',
  (room) => {
    const door = `${room}/index.ts`;
    const outside = files.filter((file) => roomOf(file) !== room);
    const used = outside.flatMap((file) =>
      importsOf(file).flatMap(({ target, names }) => (target === door ? (names ?? ['*']) : [])),
    );
    const named = importsOf(door).flatMap(({ names = ['*'] }) => names);
    expect(named.toSorted()).toEqual([...new Set(used)].toSorted());
  },
);

test('every folder of a room with layers has a rule', () => {
  const known = new Set(
    Object.entries(layers).flatMap(([room, rules]) => Object.keys(rules).map((name) => `${room}/${name}`)),
  );
  const layered = files.filter((file) => roomOf(file) in layers && !isLoneOfLibrary(file));
  expect(layered.filter((file) => !known.has(`${roomOf(file)}/${layerOf(file)}`))).toEqual([]);
});

function isLoneOfLibrary(file: string): boolean {
  return /^library\/(?!index\.ts)[\w-]+\.ts$/.test(file);
}

test('every file imports only what its layer may', () => {
  const isWrong = (file: string, { target, isType }: Import): boolean => {
    const [room, layer] = [roomOf(target), layerOf(target)];
    if (room !== roomOf(file) || layer === layerOf(file) || open.has(target) || isLoneOfLibrary(target)) return false;
    if (target.startsWith('library/vendors/') || (isType && types.test(target))) return false;
    const allowed = layers[room]?.[layerOf(file)] ?? [];
    return !allowed.includes(layer);
  };
  const layered = files.filter((file) => roomOf(file) in layers && !isLoneOfLibrary(file));
  expect(listWrong(layered, isWrong)).toEqual([]);
});

/** What no file of a part may import, not even its types. */
const walls: readonly [rule: string, part: RegExp, target: RegExp][] = [
  ['the client knows nobody who uses it', /^library\/client\//, /^library\/(?:recordings|cost)\//],
  [
    'formats are pure: they know no connection, no file and nobody who uses them',
    /^library\/formats\//,
    /^library\/(?:client|transport|files|images|recordings|cost)\//,
  ],
  ['errors know no service and no words of a hint', /^library\/errors\.ts$/, /\/(?:vendors\/|advice-words\.ts$)/],
];

test.each(walls)('%s', (_, part, target) => {
  const within = files.filter((file) => part.test(file));
  expect(within.length).toBeGreaterThan(0);
  expect(listWrong(within, (_file, each) => target.test(each.target))).toEqual([]);
});

test('errors take of hints the names of reasons alone, which are types', () => {
  expect(importsOf('library/errors.ts')).toEqual([{ target: 'library/reasons.ts', names: ['Reason'], isType: true }]);
});

test('the local gateway knows nothing of the client', () => {
  const ofClient = new Set(
    importsOf('library/index.ts').flatMap(({ target, names = [] }) =>
      target.startsWith('library/client/') ? names : [],
    ),
  );
  const isOfClient = (_file: string, { target, names = [] }: Import): boolean =>
    target === 'library/index.ts' && names.some((name) => ofClient.has(name));
  const gateway = files.filter((file) => roomOf(file) === 'gateway');
  expect(listWrong(gateway, isOfClient)).toEqual([]);
});

test('only serve and --offline use the local gateway', () => {
  const users = files.filter(
    (file) =>
      roomOf(file) !== 'gateway' &&
      importsOf(file).some(({ target, isType }) => roomOf(target) === 'gateway' && !isType),
  );
  expect(users.filter((file) => !/^cli\/(?:commands\/serve\/|run\/offline\.ts$)/.test(file))).toEqual([]);
});

test('only main.ts and the terminal use the process, the console and what colours it', () => {
  const uses = [...texts].flatMap(([file, text]) => {
    if (file === 'main.ts' || file.startsWith('cli/terminal/')) return [];
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

function longFlagsIn(text: string): string[] {
  return text.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? [];
}

/** Every flag of the program; a style sheet's `--gap` is not a flag. */
const flags = new Set(
  files
    .filter((file) =>
      /^cli\/(?!commands\/|settings\/|chat\/|terminal\/|man\/)|^cli\/commands\/batch\/flags\.ts$/.test(file),
    )
    .flatMap((file) => literalsOf(file).flatMap(longFlagsIn)),
);

/** Fields of a request have their flags in their rows, and hints, which lie in the library itself, name the flag that helps. */
const flagless = files.filter(
  (file) => /^(?:library\/[\w-]+|cli\/chat|cli\/terminal)\//.test(file) && file !== 'library/formats/request-fields.ts',
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

test('each type and each exported function has a name of its own, but for the answers of both packages', () => {
  const declared = /^(?:(?:export )?(?:interface|type)|export (?:async )?function\*?) (\w+)/gm;
  const names = [...texts].flatMap(([file, text]) => {
    if (file === 'gateway/testing/testing-types.ts') return [];
    // The forms of an overloaded function are one.
    return [...new Set([...text.matchAll(declared)].map(([, name]) => name))];
  });
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});
