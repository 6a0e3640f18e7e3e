import type { Command } from 'commander';
import type { Check } from './types.ts';
import { GatewayError, outcomes } from '../../errors.ts';
import type { Secret } from '../../settings/secret.ts';
import { type SettingsSurvey, type Use, useNames } from '../../settings/types.ts';
import { rowName } from '../../settings/survey.ts';
import { escapeLine } from '../../terminal/escape.ts';
import { createStyle, type Style } from '../../terminal/style.ts';
import { hintOf } from '../../advice.ts';
import type { Action, Context } from '../../cli/context.ts';
import type { Live } from './live.ts';
import {
  checkAddress,
  checkConfigFile,
  checkModels,
  checkRuntime,
  failedCheck,
  servedBy,
  survey,
  type Surveyed,
} from './settings.ts';
import { addFlags } from '../../cli/flags/flag.ts';
import { connectionFlags } from '../../cli/flags/shared.ts';
import { setExamples, setNotes } from '../../cli/help/help.ts';
import { readConfiguredKey, credentialsOf } from '../../cli/run/connection.ts';
import { transportOptions } from '../../cli/run/transports.ts';
import { type ConnectionFlags, refuseKeyInArgv } from '../../cli/run/settings.ts';

const unused = new Set(['retries', 'retryMaxTime', 'retrySafeOnly', 'record', 'replay']);

/** Of the connection's flags those that decide whether a request would come through. */
const reachFlags = Object.fromEntries(Object.entries(connectionFlags).filter(([name]) => !unused.has(name)));

interface Flags extends ConnectionFlags {
  live?: true;
}

/** `doctor`: looks at everything between this shell and the gateway, and says how to mend what is not right. */
export function doctorCommand(command: Command): Action {
  command.usage('[flags]');
  setExamples(command, [
    'gateway-cli doctor',
    'gateway-cli doctor --live      # sends small requests until it knows what works; they may be billed',
    'gateway-cli doctor --json | jq -r \'.checks[] | select(.state == "failed") | .fix\'',
  ]);
  setNotes(command, ['Exit 0 when nothing failed, else the code of the first failure. Keys are never shown.']);
  addFlags(command, 'Flags', {
    live: { flags: '--live', text: 'send small requests until it is known what works; they may be billed' },
  });
  addFlags(command, 'Connection', reachFlags);
  return (context, _words, flags) => runDoctor(flags as Flags, context);
}

async function runDoctor(flags: Flags, context: Context): Promise<void> {
  refuseKeyInArgv(flags);
  const { io, root, report } = context;
  const style = createStyle({ env: io.env, isTTY: io.stdout.isTTY, color: root.color });
  const checks: Check[] = [];
  const settings: Surveyed['rows'] = [];
  const progress = context.ui.progress('checking');
  context.atEnd(async () => progress.stop());
  for await (const check of examine(flags, context, settings)) {
    const { text, fix } = check;
    const shown = {
      ...check,
      text: context.ui.redact(text),
      ...(fix !== undefined && { fix: context.ui.redact(fix) }),
    };
    checks.push(shown);
  }
  progress.stop();
  if (!root.json) for (const check of inOrder(checks)) await io.stdout.write(await lineOf(check, style));
  const failed = checks.filter(({ state }) => state === 'failed');
  const first = failed[0];
  const exitCode = first ? outcomes[first.class ?? 'internal'].code : 0;
  report.own = { schema: 'gateway-cli/doctor@1', ok: first === undefined, exitCode, checks, settings };
  if (first === undefined) return;
  const count = failed.length === 1 ? 'one check' : `${failed.length} checks`;
  const names = failed.map(({ name, profile }) => (profile === undefined ? name : `${name} of ${profile}`));
  throw new GatewayError(first.class ?? 'internal', `${count} failed: ${names.join('; ')}`, {
    hint: failed.find(({ fix }) => fix !== undefined)?.fix,
    sent: 'no',
  });
}

/** What is wrong comes first. */
function inOrder(checks: readonly Check[]): Check[] {
  const states = ['failed', 'warning', 'skipped', 'ok'] as const;
  return states.flatMap((state) => checks.filter((check) => check.state === state));
}

/** In the order in which a request would meet them; what cannot be known after a failure is left out. */
async function* examine(flags: Flags, context: Context, settings: Surveyed['rows']): AsyncGenerator<Check> {
  yield checkRuntime();
  const { check, config } = await checkConfigFile(context);
  yield check;
  if (config === undefined) return;
  let surveyed: Surveyed;
  try {
    surveyed = await survey(flags, config, context);
  } catch (error) {
    return yield failedCheck('settings', error);
  }
  settings.push(...surveyed.rows);
  const { json, verbose } = context.root;
  for (const row of json || verbose ? surveyed.rows : [])
    yield { name: 'setting', state: 'ok', text: `${rowName(row)} = ${row.value} (${row.from})` };
  const all = servedBy(surveyed);
  if (all.length === 1 || surveyed.of.text.offline.value)
    return yield* examineGateway({ surveyed, uses: useNames, flags, context });
  for (const { profile, uses } of all) {
    // As if it had been named: what mends it has to name it too.
    const own = profile === undefined ? context : { ...context, root: { ...context.root, profile } };
    const examined = { surveyed: await survey(flags, config, own), uses, flags, context: own };
    const name = profile ?? `none for ${uses.join(', ')}`;
    for await (const found of examineGateway(examined)) yield { ...found, profile: name };
  }
}

interface Examined {
  surveyed: Surveyed;
  /** What the gateway is asked for. */
  uses: readonly Use[];
  flags: Flags;
  context: Context;
}

async function* examineGateway(examined: Examined): AsyncGenerator<Check> {
  const { surveyed, uses, flags, context } = examined;
  const settings = surveyed.of[uses[0] ?? 'text'];
  const { offline } = settings;
  const models = checkModels(surveyed, uses, context);
  if (offline.value) {
    yield models;
    yield { name: 'gateway', state: 'ok', text: `offline (${offline.from}): the local gateway answers` };
    if (flags.live) yield* await askLive({ ...examined, key: undefined });
    return;
  }
  const { url, check } = addressOf(settings);
  yield check;
  const found = await readKeyCheck(settings, context);
  yield found.check;
  yield models;
  if (url === undefined || !(yield* examineConnection(url, settings, { flags, context }))) return;
  if (found.key === undefined) return;
  if (flags.live) return yield* await askLive({ ...examined, key: found.key });
  const { checkKeyByLists } = await import('./key-check.ts');
  yield await checkKeyByLists({ ...examined, key: found.key });
}

/** Loads the live examination only where it is wanted. */
async function askLive(live: Live): Promise<Check[]> {
  const { examineLive } = await import('./live.ts');
  return examineLive(live);
}

async function readKeyCheck(
  { key: source, headers }: SettingsSurvey,
  context: Context,
): Promise<{ key: Secret | undefined; check: Check }> {
  try {
    const key = await readConfiguredKey(source, context);
    context.ui.hide(credentialsOf({ headers }, key).map(({ secret }) => secret));
    return { key, check: { name: 'key', state: 'ok', text: `there is one (${'from' in source ? source.from : ''})` } };
  } catch (error) {
    return { key: undefined, check: failedCheck('key', error) };
  }
}

function addressOf({ baseUrl, allowHttp }: SettingsSurvey): { url: URL | undefined; check: Check } {
  if (baseUrl) return checkAddress(baseUrl, allowHttp.value);
  const fix =
    'to try it without a gateway: gateway-cli doctor --offline\nset GATEWAY_BASE_URL, or type: gateway-cli config init';
  return { url: undefined, check: { name: 'base URL', state: 'failed', class: 'usage', text: 'none is set', fix } };
}

/** The network up to the gateway. Whether a request could go out. */
async function* examineConnection(
  baseUrl: URL,
  settings: SettingsSurvey,
  { flags, context }: { flags: Flags; context: Context },
): AsyncGenerator<Check, boolean> {
  const { examineNetwork } = await import('./network.ts');
  const { signal, io } = context;
  const transport = await transportOptions(settings, flags, context);
  let reached = true;
  const options = { baseUrl, transport, signal, now: io.now, elapsed: io.elapsed, fixOf: hintOf };
  for await (const check of examineNetwork(options)) {
    if (check.state === 'failed') reached = false;
    yield check;
  }
  return reached;
}

const marks = { ok: 'ok      ', warning: 'warning ', failed: 'FAILED  ', skipped: 'skipped ' } as const;

/** `ok      dns        …`, and the way to mend it on a line of its own. */
async function lineOf({ name, profile, state, text, fix }: Check, style: Style): Promise<string> {
  const dress = { ok: style.success, warning: style.warning, failed: style.failure, skipped: style.faint }[state];
  const whose = profile === undefined ? '' : `${profile}: `;
  const line = `${await dress(marks[state])}${name.padEnd(18)}${escapeLine(`${whose}${text}`)}\n`;
  return fix === undefined
    ? line
    : `${line}${fix
        .split('\n')
        .map((part) => `${' '.repeat(26)}${escapeLine(part)}\n`)
        .join('')}`;
}
