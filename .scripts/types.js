// The declarations of the library door: index.d.ts and what it refers to, nothing else.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import ts from 'typescript';

const specifier = /(from |import\()(['"])(\.[^'"]+)\2/g;

/**
 * Writes the declarations that are reachable from src/index.ts. Errors of types are for `npm run types` to find.
 * @param {string} root the package's folder
 * @param {string} outdir where index.d.ts goes
 */
export function emitTypes(root, outdir) {
  const emitted = declarations(root);
  const seen = new Set();
  const waiting = ['index.d.ts'];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    const text = emitted.get(name);
    if (text === undefined) throw new Error(`there is no declaration of ${name}`);
    // Every resolution mode finds `x.js` beside `x.d.ts`.
    const plain = text.replaceAll(specifier, (_, before, quote, path) => {
      waiting.push(posix.join(posix.dirname(name), path.replace(/\.(ts|js)$/, '.d.ts')));
      return `${before}${quote}${path.replace(/\.ts$/, '.js')}${quote}`;
    });
    const file = join(outdir, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, plain);
  }
}

/** Every declaration of the program behind src/index.ts, by its path below src. */
function declarations(root) {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const src = join(root, 'src');
  const program = ts.createProgram([join(src, 'index.ts')], {
    ...options,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    stripInternal: true,
    outDir: src,
    rootDir: src,
  });
  const emitted = new Map();
  program.emit(undefined, (path, text) => void emitted.set(relative(src, path).split(sep).join('/'), text));
  return emitted;
}
