// Puts what a release needs into a folder: the tarball to publish, its notes and those of all releases before, the Homebrew formula that
// installs it, what registries ask for, the packages that are in it (SBOM), and checksums.
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
const { name, version, description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

mkdirSync(folder, { recursive: true });
// Built by the pack itself: `prepack`.
const [{ filename }] = JSON.parse(run('npm', 'pack', '--json', '--pack-destination', folder));
const tags = run('git', 'tag', '--list', 'v*', '--merged', 'HEAD', '--sort=-version:refname')
  .split('\n')
  .filter(Boolean);
const earlier = tags.filter((tag) => tag !== `v${version}`);
writeFileSync(join(folder, 'notes.md'), notesOf(version, 'HEAD', earlier[0]));
run(process.execPath, '.scripts/formula.js', resolve(folder));
writeFileSync(join(folder, 'sbom.json'), `${JSON.stringify(sbom(), null, 2)}\n`);
const server = mcpServer();
if (server) writeFileSync(join(folder, 'server.json'), `${JSON.stringify(server, null, 2)}\n`);
writeFileSync(join(folder, 'schema-store.json'), `${JSON.stringify(schemas(), null, 2)}\n`);
writeFileSync(join(folder, 'agent-skills.json'), `${JSON.stringify(skills(), null, 2)}\n`);
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

/**
 * What the tag of a release says, which a person wrote for users, and the subjects of the commits that changed what is in the package,
 * the newest first.
 */
function notesOf(release, end, last) {
  const message = '%(if:equals=tag)%(objecttype)%(then)%(contents)%(end)';
  const summary = run('git', 'tag', '--list', `--format=${message}`, `v${release}`);
  const head = `# ${name} ${release}\n\n${summary === '' ? '' : `${summary}\n\n`}`;
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

/** Entries for `catalog.json` of SchemaStore: editors know our files by their names, also those without `$schema`. */
function schemas() {
  const folders = ['gateway-cli', 'gateway-cli/Config'].map((path) => `**/${path}/config.json`);
  return [
    {
      name: 'gateway-cli config',
      description: 'Settings of gateway-cli',
      fileMatch: folders,
      url: `https://unpkg.com/${name}@${version.split('.')[0]}/dist/config.schema.json`,
    },
    {
      name: 'gateway-cli job',
      description: 'A job of gateway-cli batch, or the values of all jobs',
      fileMatch: ['*.gateway-cli-job.json', '*.gateway-cli-jobs.jsonl'],
      url: `https://unpkg.com/${name}@${version.split('.')[0]}/dist/job.schema.json`,
    },
  ];
}

/**
 * What a site serves at `/.well-known/agent-skills/index.json`, as the draft 0.2.0 of Agent Skills Discovery has it
 * (github.com/cloudflare/agent-skills-discovery-rfc, 12 March 2026).
 */
function skills() {
  const path = '.agents/skills/gateway-cli/SKILL.md';
  const text = readFileSync(join(root, path));
  const [, skill, about] = /^---\nname: (.+)\ndescription: (.+)\n/.exec(text) ?? [];
  return {
    $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json',
    skills: [
      {
        name: skill,
        type: 'skill-md',
        description: about,
        url: `https://unpkg.com/${name}@${version}/${path}`,
        digest: `sha256:${createHash('sha256').update(text).digest('hex')}`,
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
