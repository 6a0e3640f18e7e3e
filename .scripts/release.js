// Puts what a release needs into a folder: the tarball to publish, its notes and those of all releases before, the Homebrew formula that
// installs it, the packages that are in it (SBOM), and checksums.
//   node .scripts/release.js <folder>
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('usage: node .scripts/release.js <folder>');
  process.exit(2);
}

const run = (command, ...argv) => execFileSync(command, argv, { cwd: root, encoding: 'utf8' }).trim();
const { name, version, description, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

mkdirSync(folder, { recursive: true });
// Built by the pack itself: `prepack`.
const [{ filename }] = JSON.parse(run('npm', 'pack', '--json', '--pack-destination', folder));
const tarball = readFileSync(join(folder, filename));
const tags = run('git', 'tag', '--list', 'v*', '--merged', 'HEAD', '--sort=-version:refname')
  .split('\n')
  .filter(Boolean);
const earlier = tags.filter((tag) => tag !== `v${version}`);
writeFileSync(join(folder, 'notes.md'), notesOf(version, 'HEAD', earlier[0]));
writeFileSync(join(folder, `${name}.rb`), formula(createHash('sha256').update(tarball).digest('hex')));
writeFileSync(join(folder, 'sbom.json'), `${JSON.stringify(sbom(), null, 2)}\n`);
const server = mcpServer();
if (server) writeFileSync(join(folder, 'server.json'), `${JSON.stringify(server, null, 2)}\n`);
const older = earlier.map((tag, at) => notesOf(tag.slice(1), tag, earlier[at + 1]));
writeFileSync(join(folder, 'CHANGELOG.md'), [notesOf(version, 'HEAD', earlier[0]), ...older].join('\n'));
const sums = readdirSync(folder)
  .filter((file) => file !== 'SHA256SUMS')
  .toSorted()
  .map(
    (file) =>
      `${createHash('sha256')
        .update(readFileSync(join(folder, file)))
        .digest('hex')}  ${file}\n`,
  );
writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));

/** The subjects of the commits of a release that changed what is in the package, the newest first. */
function notesOf(release, end, last) {
  const head = `# ${name} ${release}\n\n`;
  if (last === undefined) return `${head}The first release. ${description}.\n`;
  const subjects = run(
    'git',
    'log',
    '--format=- %s',
    `${last}..${end}`,
    '--',
    'src',
    'bin',
    'package.json',
    'README.md',
  );
  return `${head}Changes since ${last.slice(1)}:\n\n${subjects}\n`;
}

/** What `mcp-publisher` puts into the registry of MCP (its schema of 2025-12-11); nothing while the repository has no address. */
function mcpServer() {
  const published = JSON.parse(run('tar', '-xzOf', resolve(folder, filename), 'package/package.json'));
  if (published.mcpName === undefined) return undefined;
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: published.mcpName,
    title: name,
    description: 'Text and images from the models of many services, with limits of costs',
    version,
    repository: { url: published.bugs.replace('/issues', ''), source: 'github' },
    packages: [
      {
        registryType: 'npm',
        identifier: name,
        version,
        transport: { type: 'stdio' },
        packageArguments: [{ type: 'positional', value: 'mcp' }],
        environmentVariables: ['GEMINI_API_KEY', 'OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'OPENROUTER_API_KEY'].map(
          (key) => ({
            name: key,
            description: 'The key of a service; one is enough',
            isSecret: true,
          }),
        ),
      },
    ],
  };
}

/** The packages whose code is in the bundle, as CycloneDX; nothing in it differs from one run to the next. */
function sbom() {
  const { serialNumber: _, ...document } = JSON.parse(run('npm', 'sbom', '--sbom-format', 'cyclonedx'));
  delete document.metadata.timestamp;
  // npm takes that of the folder.
  document.metadata.component.name = name;
  const licences = join(root, 'dist/THIRD-PARTY-LICENSES.txt');
  const text = existsSync(licences) ? readFileSync(licences, 'utf8') : '';
  const bundled = new Set(text.split('\n').map((line) => line.split(' (')[0]));
  const components = document.components.filter((part) => bundled.has(`${part.name} ${part.version}`));
  const refs = new Set([document.metadata.component['bom-ref'], ...components.map((part) => part['bom-ref'])]);
  const dependencies = document.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }));
  return { ...document, components, dependencies };
}

function formula(sha256) {
  const className = name.replace(/(^|-)(\w)/g, (_, dash, letter) => letter.toUpperCase());
  return `class ${className} < Formula
  desc "Text, images and chat from generation services on the command-line"
  homepage "https://www.npmjs.com/package/${name}"
  url "https://registry.npmjs.org/${name}/-/${filename}"
  sha256 "${sha256}"
  license "${license}"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
  end

  test do
    system bin/"${name}", "image", "gen", "--offline", "a cat", "-o", "cat.png"
    assert_path_exists testpath/"cat.png"
  end
end
`;
}
