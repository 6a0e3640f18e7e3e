// What vendors changed since a person last looked: the types of their newest SDKs against those that `drift/seen.json` keeps, and
// against what `src/library/vendors` says. For every package that `src` names with its version, the changelog since then: what is gone or goes.
// Who has looked writes the newest version there. The packages come from the npm registry into a temporary folder; none of their code
// runs.
//   node .scripts/drift.js                             all of it; exit code 1 if something is new, gone, or a default ends soon
//   node .scripts/drift.js --defaults                  only the default models: for a release
//   node .scripts/drift.js --accept                    what is new was looked at: keep it as seen
//   node .scripts/drift.js openai@7.49.0 openai@7.57.0 what changed between two versions
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'rolldown';
import { listNamedPackages, packages, readChanges, readFacts } from './drift/read.js';

const dayMs = 24 * 60 * 60 * 1000;
/** A default that ends within so many days is to be replaced now. */
const noticeDays = 60;

const seenPath = fileURLToPath(new URL('drift/seen.json', import.meta.url));
const [first = '', second] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'drift-'));
try {
  if (second !== undefined) console.log(differences(fetchFacts(first), fetchFacts(second)).join('\n'));
  else process.exitCode = await compareWithSeen();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function compareWithSeen() {
  const seen = JSON.parse(readFileSync(seenPath, 'utf8'));
  const newest = Object.fromEntries(packages.map((name) => [name, fetchFacts(`${name}@latest`)]));
  const vendors = await loadVendors();
  if (first === '--accept') {
    writeFileSync(seenPath, `${JSON.stringify(newest, undefined, 1)}\n`);
    return 0;
  }
  const changed = () => packages.flatMap((name) => differences(seen[name], newest[name]));
  const others = first === '--defaults' ? [] : [...changed(), ...unreadNames(newest, vendors), ...fetchChanges()];
  const all = [...others, ...endingDefaults(newest, vendors)];
  console.log(
    all.join('\n') || `nothing changed: ${packages.map((name) => `${name} ${newest[name].version}`).join(', ')}`,
  );
  return all.length > 0 ? 1 : 0;
}

/** The facts of a version of a package, such as `openai@latest`. */
function fetchFacts(spec) {
  const name = spec.slice(0, spec.lastIndexOf('@'));
  return fetchPackage(spec, (path, version) => ({ name, version, ...readFacts(name, path) }));
}

/** The removals and deprecations that the changelogs of the packages that `src` names tell since the named versions. */
function fetchChanges() {
  const root = fileURLToPath(new URL('../src', import.meta.url));
  const sources = readdirSync(root, { recursive: true }).filter((path) => path.endsWith('.ts'));
  const text = sources.map((path) => readFileSync(join(root, path), 'utf8')).join('\n');
  return [...listNamedPackages(text)].flatMap(([name, since]) =>
    fetchPackage(`${name}@latest`, (path, version) => {
      const told = readChanges(path, since);
      return told.length > 0 ? [`src names ${name} ${since}; the changelog up to ${version} says`, ...told] : [];
    }),
  );
}

/** Unpacks a package, which is read and removed again. */
function fetchPackage(spec, read) {
  const options = {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    shell: process.platform === 'win32',
  };
  const [{ filename, version }] = JSON.parse(execFileSync('npm', ['pack', spec, '--json'], options));
  execFileSync('tar', ['-xzf', filename], options);
  const found = read(join(folder, 'package'), version);
  rmSync(join(folder, 'package'), { recursive: true });
  return found;
}

/** What one version has and another has not, a line each kind. */
function differences(before, after) {
  const lines = Object.entries(after.facts).flatMap(([kind, names]) => {
    const known = before.facts[kind] ?? [];
    const added = names.filter((name) => !known.includes(name));
    const gone = known.filter((name) => !names.includes(name));
    return [
      ...(added.length > 0 ? [`  new ${kind}: ${added.join(' ')}`] : []),
      ...(gone.length > 0 ? [`  gone ${kind}: ${gone.join(' ')}`] : []),
    ];
  });
  const ends = Object.entries(after.ends).filter(([model, day]) => before.ends[model] !== day);
  if (ends.length > 0) lines.push(`  new ends: ${ends.map(([model, day]) => `${model} ${day}`).join(', ')}`);
  return lines.length > 0 ? [`${after.name} ${before.version} → ${after.version}`, ...lines] : [];
}

/** What `src/library/vendors` says, as values. */
async function loadVendors() {
  const input = ['services', 'finish-reasons', 'effort'].map((name) => `src/library/vendors/${name}.ts`);
  const dir = join(folder, 'vendors');
  await build({ cwd: fileURLToPath(new URL('..', import.meta.url)), input, platform: 'node', output: { dir } });
  const modules = await Promise.all(
    input.map((path) => import(pathToFileURL(join(dir, path.replace(/.*\/(.*)\.ts/, '$1.js'))))),
  );
  return Object.assign({}, ...modules);
}

/** Names of the newest types that the program would not know what to do with. */
function unreadNames(newest, { classifyReason, effortNames }) {
  return packages.flatMap((name) => {
    const { facts } = newest[name];
    const reasons = [...(facts['finish reasons'] ?? []), ...(facts['incomplete reasons'] ?? [])];
    const unknown = reasons.filter((reason) => classifyReason(reason) === 'unknown' && !/unspecified/i.test(reason));
    const efforts = (facts.efforts ?? []).filter((effort) => !effortNames.includes(effort.toLowerCase()));
    return [
      ...(unknown.length > 0
        ? [`src/library/vendors/finish-reasons.ts does not know, of ${name}: ${unknown.join(' ')}`]
        : []),
      ...(efforts.filter((effort) => !/unspecified/i.test(effort)).length > 0
        ? [`src/library/vendors/effort.ts does not know, of ${name}: ${efforts.join(' ')}`]
        : []),
    ];
  });
}

/** The default models that end soon, or that the vendor's types do not name. */
function endingDefaults(newest, { services }) {
  const sdks = { openai: 'openai', anthropic: '@anthropic-ai/sdk', gemini: '@google/genai' };
  const before = new Date(Date.now() + noticeDays * dayMs).toISOString().slice(0, 10);
  return Object.entries(sdks).flatMap(([service, sdk]) => {
    const { facts, ends } = newest[sdk];
    const named = new Set([...facts.models, ...(facts['image models'] ?? [])]);
    return [...new Set(Object.values(services[service].models))].flatMap((model) => {
      if (ends[model] !== undefined && ends[model] < before)
        return [`the default ${model} of ${service} ends on ${ends[model]}`];
      return named.has(model) ? [] : [`the default ${model} of ${service} is not in ${sdk} ${newest[sdk].version}`];
    });
  });
}
