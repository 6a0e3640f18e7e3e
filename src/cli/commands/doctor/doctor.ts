import type { Command } from 'commander';
import type { Action, Context, CommandEnd } from '../../context.ts';
import { addFlags, setExamples, setNotes } from '../../flags/flag.ts';
import { connectionFlags } from '../../flags/shared.ts';
import { type ConnectionFlags, keyInArgv } from '../../run/settings.ts';
import { connectionOptions } from '../../run/connection.ts';
import { append, GatewayError, type Use, useNames } from '../../../library/index.ts';
import { type SettingRow, rowName } from '../../settings/setting-rows.ts';
import { breakLines } from '../../terminal/break-lines.ts';
import { escapeLine } from '../../terminal/escape.ts';
import type { Output } from '../../terminal/io.ts';
import { versions } from 'node:process';
import { createStyle, type Style } from '../../terminal/style.ts';
import {
  addressRow,
  type Check,
  type GatewaySubject,
  apiKeyRow,
  modelsRow,
  nodeRow,
  runRow,
  runRows,
  getFirstSettings,
  settingsRows,
  type LocalSubject,
  readSettingsByUse,
  type SettingsByUse,
} from './checks.ts';
import { examineNetwork } from './network.ts';
import { examineLive, keyTakenRow } from './live.ts';

const unused = new Set(['retries', 'retryMaxTime', 'retrySafeOnly', 'record', 'replay']);

/** The connection flags that decide whether a request reaches the gateway. */
const reachFlags = Object.fromEntries(Object.entries(connectionFlags).filter(([name]) => !unused.has(name)));

type DoctorFlags = ConnectionFlags & { live?: true };

/** `doctor`: examines everything between this shell and the gateway, and says what to type for each fault. */
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
  return (context, _words, flags: DoctorFlags) => runDoctor(flags, context);
}

async function runDoctor(flags: DoctorFlags, context: Context): Promise<CommandEnd> {
  if (flags.apiKey !== undefined) throw keyInArgv();
  const { io, root } = context;
  const { redact } = context.ui;
  const checks: Check[] = [];
  const settings: SettingRow[] = [];
  const progress = context.ui.progress('checking');
  context.atEnd(async () => progress.stop());
  for await (const check of examineAll({ flags, context }, settings)) {
    const { text, fix } = check;
    checks.push({ ...check, text: redact(text), ...(fix !== undefined && { fix: redact(fix) }) });
  }
  progress.stop();
  const style = createStyle({ env: io.env, isTTY: io.stdout.isTTY, color: root.color });
  const worstFirst = (['failed', 'warning', 'skipped', 'ok'] as const).flatMap((state) =>
    checks.filter((check) => check.state === state),
  );
  if (!root.json) for (const check of worstFirst) await io.stdout.write(await formatCheck(check, style, io.stdout));
  const failed = checks.filter(({ state }) => state === 'failed');
  const first = failed[0];
  const document = { schema: 'gateway-cli/doctor@1', checks, settings };
  if (first === undefined) return { document };
  const count = failed.length === 1 ? 'one check' : `${failed.length} checks`;
  const names = failed.map(({ name, profile }) => (profile === undefined ? name : `${name} of ${profile}`));
  const error = new GatewayError(first.class ?? 'internal', `${count} failed: ${names.join('; ')}`, {
    hint: failed.find(({ fix }) => fix !== undefined)?.fix,
    sent: 'no',
  });
  return { document, error };
}

/** Runs the checks in the order in which a request needs them; checks that depend on a failed one are left out. */
async function* examineAll(
  start: LocalSubject & { flags: DoctorFlags },
  settings: SettingRow[],
): AsyncGenerator<Check> {
  const { flags, context } = start;
  yield* runRow(nodeRow, versions);
  const known = yield* runRows(settingsRows, start);
  if (known?.surveyed === undefined) return;
  const { surveyed } = known;
  append(settings, surveyed.rows);
  const { json, verbose } = context.root;
  for (const row of json || verbose ? surveyed.rows : [])
    yield { name: 'setting', state: 'ok', text: `${rowName(row)} = ${row.value} (${row.from})` };
  const gateways = usesByProfile(surveyed);
  if (gateways.length === 1 || surveyed.byUse.text.offline)
    return yield* examineGateway({ surveyed, uses: useNames, flags, context });
  for (const { profile, uses } of gateways) {
    // The profile counts as named: the commands that fix it must name it too.
    const own = profile === undefined ? context : { ...context, root: { ...context.root, profile } };
    const examined = { surveyed: await readSettingsByUse(known, own), uses, flags, context: own };
    const name = profile ?? `none for ${uses.join(', ')}`;
    for await (const check of examineGateway(examined)) yield { ...check, profile: name };
  }
}

/** The profiles in use, each with its uses; undefined is the profile of uses that have none. */
function usesByProfile({ byUse }: SettingsByUse): { profile: string | undefined; uses: Use[] }[] {
  const findUseProfile = (use: Use): string | undefined => byUse[use].profile;
  const profiles = [...new Set(useNames.map(findUseProfile))];
  return profiles.map((profile) => ({ profile, uses: useNames.filter((use) => findUseProfile(use) === profile) }));
}

async function* examineGateway(given: GatewaySubject & { flags: DoctorFlags }): AsyncGenerator<Check> {
  const { flags, context } = given;
  const settings = getFirstSettings(given);
  const { offline, origins } = settings;
  if (offline) {
    yield* runRow(modelsRow, given);
    yield { name: 'gateway', state: 'ok', text: `offline (${origins.offline?.from}): the local gateway answers` };
    if (flags.live) yield* await examineLive(given);
    return;
  }
  let examined: GatewaySubject = given;
  for (const row of [addressRow, apiKeyRow, modelsRow]) examined = (yield* runRow(row, examined)) ?? examined;
  if (examined.url === undefined) return;
  const transport = await connectionOptions(settings, flags, context);
  const options = { baseUrl: examined.url, transport, signal: context.signal };
  const hasKey = examined.key !== undefined || settings.key.kind === 'none';
  if (!(yield* examineNetwork(options)) || !hasKey) return;
  if (flags.live) yield* await examineLive(examined);
  else yield* runRow(keyTakenRow, examined);
}

const marks = { ok: 'ok      ', warning: 'warning ', failed: 'FAILED  ', skipped: 'skipped ' } as const;
/** The columns of a mark and a name. */
const indent = 26;

/** `ok      proxy      …`, and the words to type on lines of their own. A terminal gets whole words. */
async function formatCheck({ name, profile, state, text, fix }: Check, style: Style, stdout: Output): Promise<string> {
  const dress = { ok: style.success, warning: style.warning, failed: style.failure, skipped: style.faint }[state];
  const said = profile === undefined ? text : `${profile}: ${text}`;
  const fixes = fix === undefined ? [] : fix.split('\n');
  const lines = [said, ...fixes].map((line) => `${' '.repeat(indent)}${escapeLine(line)}`).join('\n');
  const shown = stdout.isTTY ? breakLines(lines, stdout.columns) : lines;
  return `${await dress(marks[state])}${name.padEnd(18)}${shown.slice(indent)}\n`;
}
