// The declarations of the library and of what tests use: those that users import, and what they refer to.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import ts from 'typescript';

/**
 * Writes the declarations that are reachable from some modules of src. `npm run types` reports the errors of types.
 * @param {string} root the package's folder
 * @param {string} outdir where they go
 * @param {string[]} entries the modules
 */
export function writeTypes(root, outdir, entries) {
  const emitted = declarations(root, entries);
  const waiting = new Set(entries.map((name) => `${name}.d.ts`));
  for (const name of waiting) {
    const text = emitted.get(name);
    if (text === undefined) throw new Error(`there is no declaration of ${name}`);
    for (const { fileName } of ts.preProcessFile(text).importedFiles)
      if (fileName.startsWith('.'))
        waiting.add(posix.join(posix.dirname(name), fileName.replace(/(\.d)?\.ts$/, '.d.ts')));
    mkdirSync(dirname(join(outdir, name)), { recursive: true });
    writeFileSync(join(outdir, name), text);
  }
}

/** Every declaration of the programs behind these modules, by its path below src. */
function declarations(root, entries) {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const src = join(root, 'src');
  // What is wrong in them is for `npm run types` to say: checking them here, too, took 9 s.
  const emitting = { noEmit: false, declaration: true, emitDeclarationOnly: true, stripInternal: true, noCheck: true };
  const program = ts.createProgram(
    entries.map((name) => join(src, `${name}.ts`)),
    { ...options, ...emitting, outDir: src, rootDir: src },
  );
  const emitted = new Map();
  program.emit(undefined, (path, text) => void emitted.set(relative(src, path).split(sep).join('/'), text));
  return emitted;
}
