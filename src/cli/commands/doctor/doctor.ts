import type { Command } from 'commander';
import type { Action, Context, CommandEnd } from '../../context.ts';
import { addFlags, setExamples, setNotes } from '../../flags/flag.ts';
import { connectionFlags } from '../../flags/shared.ts';
import { type ConnectionFlags, keyInArgv } from '../../run/settings.ts';
import { connectionOptions } from '../../run/connection.ts';
import { append, GatewayError, type Use, useNames } from '../../../library/index.ts';
import { configPath, readConfig } from '../../settings/config-file.ts';
import { type SettingRow, settingRows } from '../../settings/setting-rows.ts';
import { breakLines } from '../../terminal/break-lines.ts';
import { escapeLine } from '../../terminal/escape.ts';
import type { Output } from '../../terminal/io.ts';
import { versions } from 'node:process';
import { createStyle, type Style } from '../../terminal/style.ts';
import {
  attempt,
  type Check,
  checkModels,
  checkNode,
  describeConfig,
  type Gateway,
  getFirstSettings,
  readGatewayKey,
  readGatewayUrl,
  readSettingsByUse,
  type SettingsByUse,
  toCheck,
} from './checks.ts';
import { examineNetwork } from './network.ts';
import { examineLists } from './lists.ts';
import { examineLive } from './live.ts';

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
  const progress = context.ui.progress('checking');
  context.atEnd(async () => progress.stop());
  const { checks: found, settings } = await examineAll(flags, context);
  const checks = found.map(({ fix, ...check }) => ({
    ...check,
    text: redact(check.text),
    ...(fix !== undefined && { fix: redact(fix) }),
  }));
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

/** Makes the checks in the order in which a request needs them; checks that depend on a failed one are left out. */
async function examineAll(flags: DoctorFlags, context: Context): Promise<{ checks: Check[]; settings: SettingRow[] }> {
  const { signal } = context;
  const node = checkNode(versions.node);
  const loaded = await attempt('config', async () => readConfig(await configPath(context.io)), signal);
  if ('failed' in loaded) return { checks: [node, loaded.failed], settings: [] };
  const config = toCheck('config', describeConfig(loaded.value));
  const read = await attempt('settings', () => readSettingsByUse(flags, loaded.value, context), signal);
  if ('failed' in read) return { checks: [node, config, read.failed], settings: [] };
  const { value: surveyed } = read;
  const checks = [node, config];
  for (const { profile, uses } of usesByProfile(surveyed)) {
    if (uses.length === useNames.length) {
      append(checks, await examineGateway({ surveyed, uses, flags, context }));
      continue;
    }
    // The profile counts as named: the commands that fix it must name it too.
    const own = profile === undefined ? context : { ...context, root: { ...context.root, profile } };
    const gateway = { surveyed: await readSettingsByUse(flags, loaded.value, own), uses, flags, context: own };
    const name = profile ?? `none for ${uses.join(', ')}`;
    const found = await examineGateway(gateway);
    append(
      checks,
      found.map((check) => ({ ...check, profile: name })),
    );
  }
  return { checks, settings: settingRows(surveyed.byUse) };
}

/** The profiles in use, each with its uses; undefined is the profile of uses that have none. The local gateway serves all uses. */
function usesByProfile({ byUse }: SettingsByUse): { profile: string | undefined; uses: readonly Use[] }[] {
  const { offline, profile: first } = byUse.text;
  if (offline) return [{ profile: first, uses: useNames }];
  const profiles = [...new Set(useNames.map((use) => byUse[use].profile))];
  return profiles.map((profile) => ({ profile, uses: useNames.filter((use) => byUse[use].profile === profile) }));
}

async function examineGateway(gateway: Gateway & { flags: DoctorFlags }): Promise<Check[]> {
  const { flags, context } = gateway;
  const { signal } = context;
  const settings = getFirstSettings(gateway);
  const { offline, origins, key: source } = settings;
  const models = checkModels(gateway);
  if (offline) {
    const text = `offline (${origins.offline.from}): the local gateway answers`;
    return [models, toCheck('gateway', text), ...(flags.live ? await examineLive(gateway, undefined) : [])];
  }
  const address = await attempt('base URL', () => readGatewayUrl(gateway), signal);
  const key = await attempt('key', () => readGatewayKey(gateway), signal);
  const checks = [
    'failed' in address ? address.failed : toCheck('base URL', address.value.finding),
    'failed' in key
      ? key.failed
      : toCheck('key', 'origin' in source ? `there is one (${source.origin.from})` : 'none is needed'),
    models,
  ];
  if ('failed' in address) return checks;
  const transport = await connectionOptions(settings, flags, context);
  const network = await examineNetwork({ baseUrl: address.value.url, transport, signal });
  if ('failed' in key || network.at(-1)?.state === 'failed') return [...checks, ...network];
  const sent = flags.live ? await examineLive(gateway, key.value) : await examineLists(gateway, key.value);
  return [...checks, ...network, ...sent];
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
