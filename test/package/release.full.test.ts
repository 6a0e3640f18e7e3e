import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { isFull } from '../helpers/full.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { shell } from '../helpers/spawn.ts';

const root = join(import.meta.dirname, '../..');

/** The fields of `server.json` that we write, with the rules of the registry of MCP (server.schema.json of 2025-12-11). */
const text = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength });
const some = { type: 'string', minLength: 1 };
const url = { type: 'string', pattern: '^https://[^\\s]+$' };
const closed = { type: 'object', additionalProperties: false };
const variable = { name: some, description: { type: 'string' }, isSecret: { type: 'boolean' } };
const argument = { type: { const: 'positional' }, value: some };
const packageOfNpm = {
  registryType: { const: 'npm' },
  identifier: some,
  version: { ...some, not: { enum: ['latest'] }, pattern: '^\\d+\\.\\d+\\.\\d+' },
  transport: { ...closed, properties: { type: { const: 'stdio' } }, required: ['type'] },
  packageArguments: { type: 'array', items: { ...closed, properties: argument, required: ['type', 'value'] } },
  environmentVariables: { type: 'array', items: { ...closed, properties: variable, required: ['name'] } },
};
const serverSchema = {
  ...closed,
  properties: {
    $schema: { const: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json' },
    name: { ...text(200), minLength: 3, pattern: '^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$' },
    title: text(100),
    description: text(100),
    version: text(255),
    repository: { ...closed, properties: { url, source: { const: 'github' } }, required: ['url', 'source'] },
    packages: {
      type: 'array',
      items: { ...closed, properties: packageOfNpm, required: ['registryType', 'identifier', 'transport'] },
    },
  },
  required: ['$schema', 'name', 'description', 'version'],
};
/** An entry of SchemaStore's catalog, as its schema-catalog.json has it. */
const entrySchema = {
  ...closed,
  properties: {
    name: some,
    description: some,
    fileMatch: { type: 'array', uniqueItems: true, items: some },
    url,
  },
  required: ['name', 'url', 'description'],
};
const ajv = new Ajv();
const fitsServer = ajv.compile(serverSchema);
const fitsCatalog = ajv.compile({ type: 'array', items: entrySchema });

describe('a release', () => {
  const cwd = scratchFolder();
  const git = (...argv: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...argv], { cwd, encoding: 'utf8' });
  const commit = (file: string, subject: string): void => {
    mkdirSync(join(cwd, file, '..'), { recursive: true });
    writeFileSync(join(cwd, file), subject);
    git('add', '-A');
    git('commit', '-qm', subject);
  };
  const release = (): string =>
    execFileSync(process.execPath, ['.scripts/release.js', 'out'], { cwd, encoding: 'utf8' });
  const written = (name: string): string => readFileSync(join(cwd, 'out', name), 'utf8');

  test('has notes from its tag and the commits since the one before, a formula for its tarball, and what registries ask for', () => {
    git('init', '-q');
    mkdirSync(join(cwd, '.scripts'));
    for (const name of ['release.js', 'manifest.js', 'formula.js'])
      copyFileSync(join(root, '.scripts', name), join(cwd, '.scripts', name));
    cpSync(join(root, '.agents'), join(cwd, '.agents'), { recursive: true });
    writeFileSync(join(cwd, '.gitignore'), 'node_modules\nout\n');
    const manifest = { name: 'gateway-cli', version: '1.1.0', description: 'It draws', license: 'MIT', files: ['src'] };
    const scripts = { prepack: 'node .scripts/manifest.js strip', postpack: 'node .scripts/manifest.js restore' };
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ ...manifest, type: 'module', scripts }));
    mkdirSync(join(cwd, '.github'));
    writeFileSync(join(cwd, '.github/repository'), 'https://github.com/a/gateway-cli\n');
    commit('src/a.js', 'Draw cats');
    release();
    expect(written('notes.md')).toBe('# gateway-cli 1.1.0\n\nThe first release. It draws.\n');
    git('tag', 'v1.0.0');
    commit('src/b.js', 'Draw dogs');
    commit('test/a.js', 'Test more');
    git('tag', '-a', 'v1.1.0', '-m', 'Dogs, too.\n\nNothing to do.');
    release();
    const notes = '# gateway-cli 1.1.0\n\nDogs, too.\n\nNothing to do.\n\nChanges since 1.0.0:\n\n- Draw dogs\n';
    expect(written('notes.md')).toBe(notes);
    const formula = written('gateway-cli.rb');
    const [, url = ''] = /url "([^"]+)"/.exec(formula) ?? [];
    expect(url).toBe('https://registry.npmjs.org/gateway-cli/-/gateway-cli-1.1.0.tgz');
    const tarball = readFileSync(join(cwd, 'out', basename(url)));
    expect(formula).toContain(`sha256 "${createHash('sha256').update(tarball).digest('hex')}"`);
    expect(formula).toMatch(/^class GatewayCli < Formula$/m);
    const published = execFileSync('tar', ['-xzOf', join(cwd, 'out', basename(url)), 'package/package.json']);
    const home = 'https://github.com/a/gateway-cli';
    const links = {
      homepage: `${home}#readme`,
      bugs: `${home}/issues`,
      repository: { type: 'git', url: `git+${home}.git` },
      mcpName: 'io.github.a/gateway-cli',
    };
    expect(JSON.parse(published.toString())).toEqual({ ...manifest, type: 'module', ...links });
    expect(written('CHANGELOG.md')).toBe(`${notes}\n# gateway-cli 1.0.0\n\nThe first release. It draws.\n`);
    const server = JSON.parse(written('server.json')) as object;
    expect({ server, errors: fitsServer(server) ? [] : fitsServer.errors }).toMatchObject({
      server: {
        name: links.mcpName,
        version: '1.1.0',
        repository: { url: home },
        packages: [{ identifier: 'gateway-cli', version: '1.1.0' }],
      },
      errors: [],
    });
    const schemas = JSON.parse(written('schema-store.json')) as { fileMatch: string[]; url: string }[];
    expect({ schemas, errors: fitsCatalog(schemas) ? [] : fitsCatalog.errors }).toMatchObject({ errors: [] });
    for (const { url } of schemas)
      expect(url).toMatch(/^https:\/\/unpkg\.com\/gateway-cli@1\/dist\/\w+\.schema\.json$/);
    const skill = readFileSync(join(root, '.agents/skills/gateway-cli/SKILL.md'));
    expect(JSON.parse(written('agent-skills.json'))).toEqual({
      $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json',
      skills: [
        {
          name: 'gateway-cli',
          type: 'skill-md',
          description: expect.stringMatching(/^Generate text and images.{20,900}$/) as string,
          url: 'https://unpkg.com/gateway-cli@1.1.0/.agents/skills/gateway-cli/SKILL.md',
          digest: `sha256:${createHash('sha256').update(skill).digest('hex')}`,
        },
      ],
    });
    expect(JSON.parse(written('sbom.json'))).toMatchObject({ bomFormat: 'CycloneDX', components: [] });
    for (const line of written('SHA256SUMS').trimEnd().split('\n')) {
      const [sum, name = ''] = line.split('  ');
      expect([
        name,
        createHash('sha256')
          .update(readFileSync(join(cwd, 'out', name)))
          .digest('hex'),
      ]).toEqual([name, sum]);
    }
    expect(git('status', '--porcelain')).toBe('');
  });

  test('has a formula that installs the executable of each system, and the tarball with Node where there is none', () => {
    const download = (file: string, from: string): string => {
      const sha256 = createHash('sha256')
        .update(readFileSync(join(cwd, 'out', file)))
        .digest('hex');
      return `      url "${from}/${file}"\n      sha256 "${sha256}"\n`;
    };
    const npm = 'https://registry.npmjs.org/gateway-cli/-';
    const tarball = `${download('gateway-cli-1.1.0.tgz', npm)}      depends_on "node"\n`;
    const blocksOf = (formula: string): string[] =>
      [...formula.matchAll(/^ {4}on_(?:arm|intel) do\n(.+?)^ {4}end$/gms)].map(([, block = '']) => block);
    expect(blocksOf(written('gateway-cli.rb'))).toEqual([tarball, tarball, tarball, tarball]);

    const systems = ['darwin-arm64', 'linux-arm64', 'linux-x64'];
    for (const system of systems) writeFileSync(join(cwd, `out/gateway-cli-1.1.0-${system}.tar.gz`), system);
    execFileSync(process.execPath, ['.scripts/formula.js', 'out'], { cwd });
    const tag = 'https://github.com/a/gateway-cli/releases/download/v1.1.0';
    const [mac, arm, intel] = systems.map((system) => download(`gateway-cli-1.1.0-${system}.tar.gz`, tag));
    expect(blocksOf(written('gateway-cli.rb'))).toEqual([mac, tarball, arm, intel]);
    expect(written('gateway-cli.rb')).toContain('homepage "https://github.com/a/gateway-cli"\n  version "1.1.0"\n');
    // What the archive of an executable holds, as `.scripts/executable.js` names it.
    for (const file of ['"gateway-cli"', 'man/*.1', 'completions/gateway-cli.bash', 'completions/_gateway-cli'])
      expect(written('gateway-cli.rb')).toContain(file);
  });
});

// Without a daemon there is no image: its steps run in a folder.
test.skipIf(!isFull)('the steps of the Dockerfile install the program', { timeout: 300_000 }, async () => {
  const text = readFileSync(join(root, '.github/Dockerfile'), 'utf8');
  const ignored = readFileSync(join(root, '.github/Dockerfile.dockerignore'), 'utf8').trim().split('\n');
  const names = new Set(ignored.map((line) => line.replace('**/', '')));
  const folder = scratchFolder();
  const src = join(folder, 'src');
  cpSync(root, src, { recursive: true, filter: (path) => path === root || !names.has(basename(path)) });
  const steps = [...text.matchAll(/^RUN (?:--mount=\S+ )?(.+)$/gm)].map(([, step = '']) => step);
  const script = steps.map((step) => step.replaceAll('/out', `${folder}/out`)).join(' && ');
  // Where npm finds its registry here is in the environment.
  const env = { ...process.env, npm_config_prefix: join(folder, 'global') };
  execFileSync('bash', ['-c', script], { cwd: src, env, stdio: 'pipe' });
  const [, program = ''] = /^ENTRYPOINT \["(.+)"\]$/m.exec(text) ?? [];
  const ran = await shell(`${folder}/global/bin/${program} text --offline hi`);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
});

test.skipIf(!isFull)(
  'two builds of one commit are the same bytes, and name the packages that are in them',
  { timeout: 600_000 },
  () => {
    const [first, second] = ['one', 'another-place'].map((name) => {
      const clone = join(scratchFolder(), name);
      execFileSync('git', ['clone', '-q', root, clone]);
      cpSync(join(root, 'node_modules'), join(clone, 'node_modules'), { recursive: true, verbatimSymlinks: true });
      execFileSync(process.execPath, ['.scripts/release.js', 'release'], { cwd: clone, stdio: 'pipe' });
      return join(clone, 'release');
    }) as [string, string];
    const sums = readFileSync(join(first, 'SHA256SUMS'), 'utf8');
    expect(readFileSync(join(second, 'SHA256SUMS'), 'utf8')).toBe(sums);
    expect(sums.match(/\S+$/gm)).toEqual([
      'CHANGELOG.md',
      'agent-skills.json',
      expect.stringMatching(/^gateway-cli-.*\.tgz$/),
      'gateway-cli.rb',
      'notes.md',
      'sbom.json',
      'schema-store.json',
    ]);
    const { components } = JSON.parse(readFileSync(join(first, 'sbom.json'), 'utf8')) as {
      components: { name: string }[];
    };
    const names = components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['undici', 'commander', 'valibot']));
    expect(names).not.toContain('vitest');
  },
);
