import type { Command } from 'commander';
import {
  GatewayError,
  getErrorCode,
  listUses,
  serviceNames,
  services,
  shellWord,
  untilAborted,
  usageError,
  useNames,
} from '../../../library/index.ts';
import {
  createApp,
  createKey,
  inUrl,
  listen,
  type Listening,
  type LogEntry,
  type ServedHeaderNames,
  type ServedService,
  serviceRules,
  unpaid,
  vendorEnvironment,
} from '../../../gateway/index.ts';
import { parseHeaderNames } from '../../settings/headers.ts';
import { fromFlag } from '../../settings/sources.ts';
import { keyNames } from '../../settings/vendor-variables.ts';
import { jsonLine } from '../../terminal/escape.ts';
import type { Action, Context, CommandEnd } from '../../context.ts';
import { addFlags, setExamples, setNotes } from '../../flags/flag.ts';
import { serveFlags } from '../../flags/serve.ts';
import { readTextFlag } from '../../input/input-files.ts';
import { localModelVariables, notRedirected, runServed } from './served-command.ts';
import { openSource, type ServeFlags } from './source.ts';

const defaultPort = 8787;
/** Time that replies in flight may take after Ctrl-C, in ms. */
const drainMs = 5000;

/** `serve [-- command…]`: the local gateway, by itself or around a command. */
export function serveCommand(command: Command): Action {
  command.argument('[command...]', 'a command that is run against the gateway').usage('[flags] [-- command…]');
  setExamples(command, [
    'gateway-cli serve -- npm test',
    'gateway-cli serve --vendor-env -- node sdk-script.mjs              # with an official SDK in it',
    'gateway-cli serve --port 0                  # prints an export line to paste into another shell',
    'gateway-cli serve --upstream work --record recordings -- npm test   # the real gateway, kept',
    'gateway-cli serve --upstream gemini --vendor-env -- node openai-script.mjs    # asks Gemini in its own format',
    'gateway-cli serve --replay recordings -- npm test                    # the same again, without a key',
    'gateway-cli text -m fault-503-twice "hi"           # against it: how does my script take two 503?',
  ]);
  setNotes(command, [
    'Models: local-text, local-chat, local-image, local-edit, and models that fail on demand: gateway-cli help faults',
  ]);
  addFlags(command, 'Flags', serveFlags);
  return (context, words, flags) => runServe(words, flags as ServeFlags, context);
}

async function runServe(words: readonly string[], flags: ServeFlags, context: Context): Promise<CommandEnd> {
  const key = flags.apiKeyFile === undefined ? createKey() : await readServedKey(flags.apiKeyFile, context);
  checkOfflineFlags(flags);
  const service = findServedService(flags);
  const named = fromFlag('--header-names', flags.headerNames);
  const served: ServedHeaderNames = named ? parseHeaderNames(named.value, named.origin) : {};
  const source = await openSource(flags, { context, localKey: key, served });
  if (source) context.atEnd(() => source.close());
  const host = flags.host ?? '127.0.0.1';
  const headerNames = {
    apiKey: served.apiKey ?? source?.headerNames.apiKey,
    version: served.version ?? source?.headerNames.version,
  };
  const app = createApp({
    key,
    headerNames,
    rules: service && serviceRules[service],
    everyPath: source !== undefined,
    pace: flags.pace,
    faultDelay: flags.faultDelay,
    batchDelay: flags.batchDelay,
    origins: flags.allowOrigin,
    hosts: [inUrl(host).toLowerCase(), ...(flags.allowHost ?? [])],
    log: (entry) => void context.ui.note(logLine(entry)),
    handler: source?.handler,
    elapsed: context.io.elapsed,
  });
  const port = flags.port ?? (words.length > 0 ? 0 : defaultPort);
  const gateway = await listen(app, { port, host }).catch(hintAtAddress);
  context.atEnd(() => gateway.close(drainMs));
  context.gracePeriod.ms = drainMs + 1000;
  if (!gateway.isLoopback) await warnOfNetwork(gateway.url, flags, context);
  const vendors = flags.vendorEnv && vendorEnvironment(service, { url: gateway.localUrl, key });
  const variables = {
    GATEWAY_BASE_URL: gateway.localUrl,
    GATEWAY_API_KEY: key,
    // The service is set also for a gateway: a profile may be for another service.
    GATEWAY_SERVICE: service ?? 'gateway',
    ...((source?.isPaid ?? true) && unpaid),
    ...(service === undefined && nameVariable(headerNames)),
    ...(source?.variables ?? localModelVariables(service === undefined ? useNames : listUses(service))),
    ...vendors?.variables,
  };
  const spoken = serviceNames.find((name) => name === variables.GATEWAY_SERVICE) ?? 'gateway';
  // A named service's own key would win over the key of this server.
  const rivals = keyNames(spoken).filter((name) => context.io.env[name]);
  const unset = vendors?.unset ?? rivals;
  if (flags.vendorEnv) for (const warning of notRedirected(words)) await context.ui.warn(warning);
  if (words.length > 0) return runServed(words, { variables, unset, context });
  await announce(gateway, { variables, unset }, { context, name: source?.name ?? service });
  const error: unknown = await untilAborted(new Promise(() => {}), context.signal).catch((reason: unknown) => reason);
  return { isPrinted: true, error };
}

const addressHints: Record<string, string> = {
  EADDRINUSE: '--port 0 picks a free port',
  // Ports below 1024 are the administrator's.
  EACCES: 'take a --port above 1023, or --port 0 for a free one',
  EADDRNOTAVAIL: '--host 127.0.0.1 is this machine',
};

/** Adds a hint to the error of an address that cannot be used. */
function hintAtAddress(error: unknown): never {
  if (!(error instanceof GatewayError)) throw error;
  const hint = addressHints[getErrorCode(error) ?? ''];
  throw error.withDetails({ hint: hint ?? 'check --host: it takes an address of this machine, such as 127.0.0.1' });
}

async function warnOfNetwork(url: string, { allowHost = [] }: ServeFlags, { ui }: Context): Promise<void> {
  await ui.warn(`${url} is open to other machines: keys, prompts and replies travel there unencrypted`);
  if (allowHost.length > 0) return;
  await ui.warn('other machines are refused until --allow-host names the host that they call, such as devbox.lan');
}

/** The names that are accepted here, for the served commands: their profile may have other names, which are refused. */
function nameVariable({ apiKey, version }: ServedHeaderNames): Record<string, string> {
  if (apiKey === undefined && version === undefined) return {};
  const own = services.gateway.headerNames;
  return { GATEWAY_HEADER_NAMES: `${apiKey ?? own.apiKey},${version ?? own.version}` };
}

/** Refuses flags of the offline models if something else answers. Throws GatewayError usage. */
function checkOfflineFlags({ upstream, replay, pace, faultDelay, batchDelay, service }: ServeFlags): void {
  const other = upstream === undefined ? replay && '--replay' : '--upstream';
  const given = { '--pace': pace, '--fault-delay': faultDelay, '--batch-delay': batchDelay, '--service': service };
  const [flag] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
  if (!other || flag === undefined) return;
  throw usageError(`${flag} is for the offline models, and with ${other} they do not answer`, `leave ${flag} out`);
}

/** The service to stand for, whose headers are its own. Throws GatewayError usage. */
function findServedService({ service, headerNames }: ServeFlags): ServedService | undefined {
  if (service === undefined || service === 'gateway') return undefined;
  if (headerNames === undefined) return service;
  throw usageError(
    `--service ${service} cannot be combined with --header-names: the headers are those of ${services[service].title}`,
    'leave --header-names out; without --service every form of the vendors is taken',
  );
}

async function readServedKey(path: string, context: Context): Promise<string> {
  const key = (await readTextFlag('--api-key-file', path, context)).trim();
  if (/^[\x21-\x7e]{8,}$/.test(key)) return key;
  throw usageError(
    `--api-key-file '${path}': a key is one word of at least 8 plain characters`,
    'make one: openssl rand -hex 24',
  );
}

/** Prints the URL and the lines to paste; with `--json` one document for scripts. */
async function announce(
  { url, port }: Listening,
  { variables, unset }: { variables: Record<string, string>; unset: readonly string[] },
  { context, name }: { context: Context; name: string | undefined },
): Promise<void> {
  const { io, root, ui } = context;
  if (root.json) {
    const document = {
      schema: 'gateway-cli/serve@1',
      ok: true,
      url,
      port,
      apiKey: variables['GATEWAY_API_KEY'],
      env: variables,
      ...(unset.length > 0 && { unset }),
    };
    await io.stdout.write(jsonLine(document));
    return;
  }
  const words = Object.entries(variables).map(([name, value]) => `${name}=${shellWord(value)}`);
  await io.stdout.write(`export ${words.join(' ')}\n`);
  if (unset.length > 0) await io.stdout.write(`unset ${unset.join(' ')}\n`);
  const who = name === undefined ? 'the local gateway' : `the local gateway (${name})`;
  await ui.note(`${who} listens on ${url}; Ctrl-C ends it`);
}

/** One line for each request: nothing of headers, queries or bodies. */
function logLine({ method, path, status, model, durationMs, bytes, note }: LogEntry): string {
  const words = [method, path, status, model, `${Math.round(durationMs)} ms`, `${bytes} B`, note && `(${note})`];
  return words.filter((word) => word !== undefined && word !== '').join(' ');
}
