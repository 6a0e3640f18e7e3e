// esbuild makes a chunk of every set of modules that the same commands share: forty files for one request, and each costs
// a fifth of a millisecond at every start. Those that are loaded together anyway become one file.
import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { build } from 'esbuild';

/** @typedef {{ path: string, text: string }} Output */

const importing = /^import(?: \{([^}]*)\} from)? "\.\/(?:chunks\/)?([^"]+)";\n/gm;
const exporting = /^export \{([^}]*)\};\n/m;

/**
 * @param {readonly Output[]} outputs of esbuild: split ES modules, neither their names nor their lines minified
 * @returns {Promise<Output[]>}
 */
export async function mergeChunks(outputs) {
  const files = new Map(outputs.map(({ path, text }) => [basename(path), text]));
  const folder = dirname(outputs.find(({ path }) => path.includes('chunks'))?.path ?? '');
  const homes = new Map();
  const merged = [];
  for (const [name, chunks] of Object.entries(groupsOf(files))) {
    const taken = new Set();
    const renamed = chunks.map((chunk) => [chunk, renameExports(files.get(chunk), taken)]);
    const text = await bundle(renamed, files);
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 8).toUpperCase();
    const path = `${folder}/${name}-${hash}.js`;
    merged.push({ path, text });
    for (const [chunk, names] of renamed) homes.set(chunk, { file: basename(path), names });
  }
  const kept = outputs.filter(({ path }) => !homes.has(basename(path)));
  return [...kept, ...merged].map(({ path, text }) => ({ path, text: redirect(text, homes) }));
}

/** Chunks to be one file each: none needs a later group, and the library loads none of the program's. */
function groupsOf(files) {
  const library = closureOf(['index.js'], files);
  const program = closureOf(entries(files, 'program'), files);
  const requests = ['text', 'gen', 'edit'].map((name) => closureOf(entries(files, name), files));
  const shared = [...files.keys()].filter((file) => file.startsWith('chunk-'));
  const often = shared.filter((file) => requests.some((closure) => closure.has(file)));
  const common = new Set([...program, ...library, ...often]);
  const [chat, batch] = ['chat', 'batch'].map((name) => closureOf(entries(files, name), files));
  return {
    base: shared.filter((file) => program.has(file) && library.has(file)),
    root: shared.filter((file) => program.has(file) && !library.has(file)),
    client: often.filter((file) => !program.has(file) && library.has(file)),
    request: often.filter((file) => !program.has(file) && !library.has(file)),
    talk: shared.filter((file) => chat.has(file) && !common.has(file)),
    jobs: shared.filter((file) => batch.has(file) && !common.has(file) && !chat.has(file)),
  };
}

function entries(files, name) {
  const found = [...files.keys()].filter((file) => new RegExp(`^${name}-[A-Z0-9]{8}\\.js$`).test(file));
  if (found.length === 0)
    throw new Error(`no chunk is called ${name}: name the command's file here as it is called now`);
  return found;
}

function closureOf(starts, files) {
  const found = new Set();
  const visit = (file) => {
    if (found.has(file)) return;
    found.add(file);
    for (const [, , target] of (files.get(file) ?? '').matchAll(importing)) visit(target);
  };
  starts.forEach(visit);
  return found;
}

/** The names that a chunk exports, and what each is called in the merged file, where two chunks may have the same. */
function renameExports(text, taken) {
  const names = new Map();
  for (const name of listOf(exporting.exec(text)?.[1] ?? '').map(([, exported]) => exported)) {
    let free = name;
    for (let n = 2; taken.has(free); n++) free = `${name}${n}`;
    taken.add(free);
    names.set(name, free);
  }
  return names;
}

/** `a, b as c` as pairs of what it is called inside and outside. */
function listOf(text) {
  return text
    .split(',')
    .map((part) => part.trim().split(' as '))
    .filter(([name]) => name !== '')
    .map(([inside, outside = inside]) => [inside, outside]);
}

async function bundle(renamed, files) {
  const inside = new Set(renamed.map(([chunk]) => chunk));
  const lines = renamed.map(
    ([chunk, names]) =>
      `export { ${[...names].map(([name, free]) => `${name} as ${free}`).join(', ')} } from "./${chunk}";`,
  );
  const { outputFiles } = await build({
    stdin: { contents: lines.join('\n'), resolveDir: '/' },
    write: false,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.18',
    legalComments: 'none',
    plugins: [
      {
        name: 'chunks',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /^\.\// }, ({ path, kind }) =>
            kind === 'import-statement' && inside.has(basename(path))
              ? { path: basename(path), namespace: 'chunk' }
              : { path, external: true },
          );
          onLoad({ filter: /./, namespace: 'chunk' }, ({ path }) => ({ contents: files.get(path), loader: 'js' }));
        },
      },
    ],
    logLevel: 'warning',
  });
  return outputFiles[0].text;
}

/** Imports of chunks that are merged, from the file that they are in now. */
function redirect(text, homes) {
  return text.replaceAll(importing, (line, list, target) => {
    const home = homes.get(target);
    if (home === undefined) return line;
    // No module of ours does anything by being loaded.
    if (list === undefined) return '';
    const names = listOf(list).map(([name, local]) => `${home.names.get(name)} as ${local}`);
    return `import { ${names.join(', ')} } from "${line.includes('"./chunks/') ? './chunks/' : './'}${home.file}";\n`;
  });
}
