import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { kill } from 'node:process';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { recordedFiles } from '../helpers/recorded-files.ts';
import { lacks } from '../helpers/screen.ts';
import { type ScriptedServer, startScriptedServer } from '../helpers/scripted-server.ts';
import { type Shell, shell } from '../helpers/spawn.ts';
import { textReply } from '../helpers/with-server.ts';
import { workspace } from './recipe.ts';

const root = join(import.meta.dirname, '../..');

interface Action {
  inputs: Record<string, { default?: string }>;
  outputs?: Record<string, { value: string }>;
  runs: { steps: { name: string; run: string; env: Record<string, string> }[] };
}

/** What a runner keeps of an action's steps. */
interface Ran {
  ended: Shell;
  outputs: Record<string, string>;
  variables: Record<string, string>;
  summary: string;
  place: ReturnType<typeof workspace>;
}

/** Runs the steps of an action as the runner does: inputs in the environment, and files for outputs, variables and summary. */
async function runAction(file: string, inputs: Record<string, string>, env: Record<string, string> = {}): Promise<Ran> {
  const path = join(root, file);
  const action = parse(readFileSync(path, 'utf8')) as Action;
  const unknown = Object.keys(inputs).filter((name) => !(name in action.inputs));
  expect(unknown).toEqual([]);
  const files = { GITHUB_OUTPUT: 'output', GITHUB_ENV: 'variables', GITHUB_STEP_SUMMARY: 'summary' };
  const place = workspace({ GITHUB_ACTIONS: 'true', RUNNER_TEMP: '.temp', ...files, ...env });
  mkdirSync(join(place.cwd, '.temp'));
  for (const name of Object.values(files)) writeFileSync(join(place.cwd, name), '');
  let ended: Shell = { code: 0, signal: null, stdout: '', stderr: '', cwd: place.cwd };
  for (const step of action.runs.steps) {
    const given = Object.entries(step.env).map(([name, value]) => {
      const filled = value
        .replace('${{ github.action_path }}', dirname(path))
        .replace(
          /\$\{\{ inputs\.([\w-]+) \}\}/,
          (_, input: string) => inputs[input] ?? action.inputs[input]?.default ?? '',
        );
      return [name, filled] as const;
    });
    const run = `set -eo pipefail\n${step.run}\necho "\${!:-}" > pid`;
    ended = await shell(run, { cwd: place.cwd, env: { ...place.env, ...Object.fromEntries(given) } });
    if (ended.code !== 0) break;
  }
  const read = (name: string): string => readFileSync(join(place.cwd, name), 'utf8');
  const kept = fileCommands(read('output'));
  const outputs = Object.entries(action.outputs ?? {}).map(([name, { value }]) => {
    const [, id = ''] = /steps\.ask\.outputs\.([\w-]+)/.exec(value) ?? [];
    return [name, kept[id] ?? ''] as const;
  });
  return {
    ended,
    outputs: Object.fromEntries(outputs),
    variables: fileCommands(read('variables')),
    summary: read('summary'),
    place,
  };
}

/** `name=value`, and `name<<mark` with the lines down to the mark. */
function fileCommands(text: string): Record<string, string> {
  const lines = text.split('\n');
  const found: Record<string, string> = {};
  for (let at = 0; at < lines.length; at++) {
    const [, name, mark] = /^([^=<]+)<<(.+)$/.exec(lines[at] ?? '') ?? [];
    const equals = /^([^=<]+)=(.*)$/.exec(lines[at] ?? '');
    if (name !== undefined) {
      const end = lines.indexOf(mark ?? '', at + 1);
      found[name] = lines.slice(at + 1, end).join('\n');
      at = end;
    } else if (equals) found[equals[1] ?? ''] = equals[2] ?? '';
    else if (lines[at] !== '') throw new Error(`the runner would refuse the line: ${lines[at]}`);
  }
  return found;
}

const ask = '.github/actions/gateway-cli/action.yml';

async function gateway(): Promise<{ server: ScriptedServer; env: Record<string, string> }> {
  const server = await startScriptedServer();
  onTestFinished(() => server.close());
  const env = { GATEWAY_OFFLINE: '', GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: 'k-123456', GATEWAY_MODEL: 'm' };
  return { server, env };
}

const body = (server: ScriptedServer): unknown => JSON.parse(server.requests[0]?.body.toString() ?? '');

test.skipIf(lacks('jq'))('text that tries to write commands and outputs stays a text', async () => {
  const { server, env } = await gateway();
  const evil =
    '::error::boo\n- a\r# heading\r![p](https://h/p.png)\r[l](https://h)\n</pre>\nend-1\nEOF\nerror-class<<x\nauth\nx\nname=value\n::add-mask::a\n<script>$(id)`id`\n';
  server.reply({ body: textReply(evil) });
  const { ended, outputs, summary } = await runAction(ask, { prompt: '--now {{x}}', summary: 'true' }, env);
  expect(ended).toMatchObject({ code: 0, stdout: '', stderr: '' });
  expect(outputs).toMatchObject({ response: evil, complete: 'true', 'error-class': '', cost: '' });
  expect(JSON.parse(outputs['json'] ?? '')).toMatchObject({ text: evil, ok: true });
  expect(readFileSync(join(ended.cwd, outputs['response-file'] ?? ''), 'utf8')).toBe(evil);
  // One block that only its own end closes.
  expect(summary).toMatch(/^\n<pre>\n[^<>]*\n<\/pre>\n\n$/);
  expect(body(server)).toMatchObject({ contents: [{ parts: [{ text: '--now {{x}}' }] }] });
});

test.skipIf(lacks('jq'))('values fill the prompt: lines, blocks and files', async () => {
  const { server, env } = await gateway();
  server.reply({ body: textReply('ok') });
  const input = 'tone: @short\nnotes: |\n  one\n    two\n\n  three\nlast: x: y\n';
  const inputs = {
    prompt: '{{tone}}/{{notes}}/{{last}}/{{file}}',
    input,
    file_input: `file: ${join(root, '.editorconfig')}`,
    'system-prompt': 'be brief',
    'max-tokens': '50',
  };
  const ran = await runAction(ask, inputs, env);
  expect(ran.ended).toMatchObject({ code: 0, stderr: '' });
  expect(body(server)).toMatchObject({
    contents: [
      { parts: [{ text: expect.stringMatching(/^@short\/one\n {2}two\n\nthree\/x: y\/root = true/) as string }] },
    ],
    systemInstruction: { parts: [{ text: 'be brief' }] },
    generationConfig: { maxOutputTokens: 50 },
  });
});

test.skipIf(lacks('jq')).each(['|', '|-', '|+'])('a block after %s that begins with @ names no file', async (mark) => {
  const { server, env } = await gateway();
  server.reply({ body: textReply('ok') });
  const input = `notes: ${mark}\n  @${join(root, '.editorconfig')}\n  two\nlast: |x`;
  const ran = await runAction(ask, { prompt: '{{notes}}/{{last}}', input }, env);
  expect(ran.ended).toMatchObject({ code: 0, stderr: '' });
  const text = `@${join(root, '.editorconfig')}\ntwo/|x`;
  expect(body(server)).toMatchObject({ contents: [{ parts: [{ text }] }] });
});

test.skipIf(lacks('jq'))('a budget that is used up fails the step, or skips it', async () => {
  const { server, env } = await gateway();
  const inputs = { prompt: 'hi', 'max-tokens': '100', prices: '{"m":{"input":"0","output":"100"}}' };
  for (const [choice, code] of [
    ['fail', 13],
    ['skip', 0],
  ] as const) {
    const ran = await runAction(ask, { ...inputs, budget: './spent.jsonl:0.001', 'if-unavailable': choice }, env);
    expect(ran.ended.code).toBe(code);
    expect(ran.outputs).toMatchObject({ response: '', 'error-class': 'over-budget' });
  }
  expect(server.requests).toEqual([]);
});

test.skipIf(lacks('jq'))('a .prompt.yml file gives model, schema and messages', async () => {
  const { server, env } = await gateway();
  server.reply({ body: textReply('{"born":1815}') });
  const file = join(root, 'test/recipes/born.prompt.yml');
  const { outputs } = await runAction(ask, { 'prompt-file': file, input: 'name: Ada' }, env);
  expect(outputs['response']).toBe('{"born":1815}');
  expect(server.requests[0]?.path).toContain('/models/some-model:');
  expect(body(server)).toMatchObject({ contents: [{ parts: [{ text: 'When was Ada born?' }] }] });
});

test.skipIf(lacks('jq'))('a failure fails the step, with its class and one annotation', async () => {
  const { ended, outputs } = await runAction(ask, { prompt: 'hi', model: 'fault-402' });
  expect(ended.code).toBe(5);
  expect(ended.stderr).toMatch(/^::error title=gateway-cli quota::.+$/m);
  expect(outputs).toMatchObject({ 'error-class': 'quota', response: '', complete: 'false' });
});

test.skipIf(lacks('jq')).each([
  ['fault-402', 'quota'],
  ['fault-401', 'auth'],
])('if-unavailable: skip goes on after %s', async (model, kind) => {
  const { ended, outputs } = await runAction(ask, { prompt: 'hi', model, 'if-unavailable': 'skip' });
  expect(ended).toMatchObject({ code: 0, stderr: '', stdout: `::notice title=gateway-cli::skipped: ${kind}\n` });
  expect(outputs).toMatchObject({ 'error-class': kind, response: '' });
});

test.skipIf(lacks('jq'))('if-unavailable: skip does not hide a mistake', async () => {
  const { ended } = await runAction(ask, { prompt: 'hi', schema: 'nowhere.json', 'if-unavailable': 'skip' });
  expect(ended.code).toBe(2);
});

test.skipIf(lacks('jq'))(
  'if-unavailable: skip goes on in a fork, where the key is empty and no service is named',
  async () => {
    const env = { GATEWAY_OFFLINE: '', GEMINI_API_KEY: '' };
    const skipped = await runAction(ask, { prompt: 'hi', summary: 'true', 'if-unavailable': 'skip' }, env);
    expect(skipped.ended).toMatchObject({ code: 0, stderr: '', stdout: '::notice title=gateway-cli::skipped: auth\n' });
    expect(skipped.summary).toBe('');
    const failed = await runAction(ask, { prompt: 'hi' }, env);
    expect(failed.ended.code).toBe(3);
    expect(failed.ended.stderr).toContain('GEMINI_API_KEY is empty');
  },
);

test.skipIf(lacks('jq'))('a name that comes twice in the input is refused before anything is sent', async () => {
  const { server, env } = await gateway();
  const once = 'title: a\nbody: one\ntitle: another';
  for (const inputs of [{ input: once }, { input: 'title: a', file_input: 'title: /etc/hostname' }]) {
    const { ended } = await runAction(ask, { prompt: '{{title}}', ...inputs }, env);
    expect(ended).toMatchObject({ code: 2 });
    expect(ended.stdout).toMatch(/^::error title=gateway-cli::input gives 'title' twice/);
  }
  expect(server.requests).toEqual([]);
});

const serve = '.github/actions/gateway-cli/serve/action.yml';

test.skipIf(lacks('jq'))('the steps after serve get recorded answers, and its key is masked', async () => {
  const { server, env } = await gateway();
  server.reply({ body: textReply('recorded') });
  const place = workspace(env);
  await shell('gateway-cli text hi --record recordings', place);
  const { ended, variables } = await runAction(serve, { replay: join(place.cwd, 'recordings') });
  onTestFinished(() => void kill(Number(readFileSync(join(ended.cwd, 'pid'), 'utf8'))));
  expect(ended).toMatchObject({ code: 0, stdout: `::add-mask::${variables['GATEWAY_API_KEY']}\n`, stderr: '' });
  const next = { ...place, env: { ...place.env, GATEWAY_MODEL: 'm', ...variables } };
  expect(await shell('gateway-cli text hi', next)).toMatchObject({ code: 0, stdout: 'recorded\n' });
  expect((await shell('gateway-cli text other', next)).code).toBe(4);
});

test.skipIf(lacks('jq'))('a recording with a line break in its model sets no variable of its own', async () => {
  const { server, env } = await gateway();
  server.reply({ body: textReply('recorded') });
  const place = workspace(env);
  await shell('gateway-cli text hi --record recordings', place);
  const folder = join(place.cwd, 'recordings');
  const evil = 'm\nBASH_ENV=/tmp/evil\nend-1';
  const file = recordedFiles(folder)[0] ?? '';
  const kept = readFileSync(join(folder, file), 'utf8');
  expect(kept).toContain('/models/m:');
  writeFileSync(join(folder, file), kept.replace('/models/m:', `/models/${encodeURIComponent(evil)}:`));
  writeFileSync(join(folder, 'models.json'), JSON.stringify({ GATEWAY_IMAGE_MODEL: evil }));
  const { ended, variables } = await runAction(serve, { replay: folder });
  onTestFinished(() => void kill(Number(readFileSync(join(ended.cwd, 'pid'), 'utf8'))));
  expect(ended.code).toBe(0);
  expect(Object.keys(variables)).toContain('GATEWAY_BASE_URL');
  expect(Object.keys(variables)).not.toContain('BASH_ENV');
  expect(JSON.stringify(variables)).not.toContain('evil');
});

test.skipIf(lacks('jq'))('serve without its folder fails', async () => {
  const { ended } = await runAction(serve, { replay: 'nowhere' });
  expect(ended.code).toBe(1);
  expect(ended.stderr).toContain('nowhere');
});

/** A variable of a GitLab job. */
type Variable = string | { value: string; expand?: boolean };

/** The GitLab template run as a job: inputs become part of its text, and variables expand unless they say no. */
async function runTemplate(inputs: Record<string, string>, env: Record<string, string> = {}): Promise<Shell> {
  const text = readFileSync(join(root, '.gitlab/gateway-cli/template.yml'), 'utf8');
  const [head = '', jobs = ''] = text.split('\n---\n');
  const { spec } = parse(head) as { spec: { inputs: Record<string, { default: string }> } };
  const filled = jobs.replace(
    /\$\[\[ inputs\.([\w-]+) \]\]/g,
    (_, name: string) => inputs[name] ?? spec.inputs[name]?.default ?? '',
  );
  const job = parse(filled) as Record<string, { script: string[]; variables: Record<string, Variable> }>;
  const [{ script, variables } = { script: [], variables: {} }] = Object.values(job);
  const given = Object.entries(variables).map(([name, variable]) => {
    const { value, expand = true } = typeof variable === 'string' ? { value: variable } : variable;
    return [name, expand ? value.replace(/\$\w+/g, '') : value] as const;
  });
  const place = workspace({ ...env, ...Object.fromEntries(given) });
  return shell(`set -eo pipefail\n${script.join('\n')}`, place);
}

test('the GitLab template keeps the answer, and skips what is not available', async () => {
  const { server, env } = await gateway();
  server.reply({ body: textReply('an answer') });
  const ended = await runTemplate({ prompt: "it's {{x}}" }, env);
  expect(ended).toMatchObject({ code: 0, stdout: '', stderr: '' });
  expect(readFileSync(join(ended.cwd, 'gateway-cli.txt'), 'utf8')).toBe('an answer\n');
  expect(body(server)).toMatchObject({ contents: [{ parts: [{ text: "it's {{x}}" }] }] });
  expect((await runTemplate({ prompt: 'hi', model: 'fault-402' })).code).toBe(5);
  expect((await runTemplate({ prompt: 'hi', model: 'fault-402', 'if-unavailable': 'skip' })).code).toBe(0);
});

test('the GitLab template skips a spent budget, and a pipeline without the key', async () => {
  const { server, env } = await gateway();
  const prices = { profiles: {}, prices: { m: { input: '1000000', output: '100' } } };
  const file = join(workspace({}).cwd, 'config.json');
  writeFileSync(file, JSON.stringify(prices), { mode: 0o600 });
  const budget = { ...env, GATEWAY_BUDGET: `${file}.ledger:0.001`, GATEWAY_CONFIG: file };
  server.reply({ body: textReply('spends it') });
  expect((await runTemplate({ prompt: 'hi' }, budget)).code).toBe(0);
  for (const [choice, code] of [
    ['fail', 13],
    ['skip', 0],
  ] as const) {
    expect((await runTemplate({ prompt: 'hi', 'if-unavailable': choice }, budget)).code).toBe(code);
    const fork = { GATEWAY_OFFLINE: '' };
    expect((await runTemplate({ prompt: 'hi', 'if-unavailable': choice }, fork)).code).toBe(code && 2);
  }
  const mistake = { prompt: 'hi', schema: 'nowhere.json', 'if-unavailable': 'skip' };
  expect((await runTemplate(mistake, env)).code).toBe(2);
});

test('an input of the GitLab template stays as it is typed', async () => {
  const { server, env } = await gateway();
  server.reply({ body: textReply('an answer') });
  const prompt = `- "$HOME": it's $5 # {{x}}`;
  expect(await runTemplate({ prompt }, env)).toMatchObject({ code: 0, stderr: '' });
  expect(body(server)).toMatchObject({ contents: [{ parts: [{ text: prompt }] }] });
});
