// The licences of the packages whose code is in the bundle, so that they travel with it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The text of THIRD-PARTY-LICENSES.txt: one part a package, from its own licence file. Throws where a package has none.
 * @param {readonly import('rolldown').RenderedChunk[]} chunks what went into the bundle
 */
export function licenceTexts(chunks) {
  const modules = chunks.flatMap(({ modules }) =>
    Object.entries(modules).flatMap(([path, { renderedLength }]) => (renderedLength > 0 ? [path] : [])),
  );
  const packages = modules.flatMap(
    (path) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(path)?.[0] ?? [],
  );
  const head = 'gateway-cli contains code of these packages, under these licences.\n';
  return [head, ...[...new Set(packages)].sort().map(partOf)].join(`\n${'-'.repeat(80)}\n\n`);
}

function partOf(folder) {
  const { name, version, license, repository } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)(\.|$)/i.test(entry));
  const readme = join(folder, 'README.md');
  const text = file
    ? readFileSync(join(folder, file), 'utf8')
    : existsSync(readme)
      ? licenceInReadme(readme)
      : undefined;
  if (text === undefined) throw new Error(`${name} has no licence file: look at its repository`);
  const url = typeof repository === 'string' ? repository : (repository?.url ?? '');
  return `${name} ${version} (${license}) ${url}\n\n${text.trim()}\n`;
}

/** Some packages have their licence in the README alone. */
function licenceInReadme(path) {
  return /^#+ *licen[cs]e\s*\n([\s\S]+?)(?=\n#|$(?![\s\S]))/im.exec(readFileSync(path, 'utf8'))?.[1];
}
