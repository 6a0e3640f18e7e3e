import jpeg from 'jpeg-js';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import {
  addFlags,
  type FlagTable,
  type FlagValues,
  notAFlag,
  oneOfWords,
  setExamples,
  setNotes,
  whole,
} from '../../flags/flag.ts';
import { connectionFlags, priceFlags } from '../../flags/shared.ts';
import type { ConnectionFlags } from '../../run/settings.ts';
import type { Action, Context, CommandEnd } from '../../context.ts';
import { decodePreview, shrink } from '../../../library/index.ts';
import { moveBudget, parseBudget } from '../../settings/values.ts';
import type { Environment } from '../../settings/sources.ts';
import { flagWords, openRoot } from './tools.ts';
import { serveTools } from './server.ts';

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;
const servers = (args: readonly string[]): string =>
  json({ mcpServers: { 'gateway-cli': { command: 'gateway-cli', args } } });

/** The clients whose configuration is documented: the place of their servers, and the entry to paste there. */
const mcpClients: Readonly<Record<string, { file: string; entry: (args: readonly string[]) => string }>> = {
  'claude-desktop': { file: 'claude_desktop_config.json, which Settings > Developer opens', entry: servers },
  'claude-code': { file: '.mcp.json in the folder of the project', entry: servers },
  cursor: { file: '.cursor/mcp.json in the folder of the project, or ~/.cursor/mcp.json', entry: servers },
  'gemini-cli': {
    file: '.gemini/settings.json in the folder of the project, or ~/.gemini/settings.json',
    entry: servers,
  },
  vscode: {
    file: '.vscode/mcp.json in the folder of the project',
    entry: (args) => json({ servers: { 'gateway-cli': { type: 'stdio', command: 'gateway-cli', args } } }),
  },
  codex: {
    file: '~/.codex/config.toml',
    entry: (args) => `[mcp_servers.gateway-cli]\ncommand = "gateway-cli"\nargs = ${JSON.stringify(args)}\n`,
  },
};

const clientNames = Object.keys(mcpClients);

const mcpFlags = {
  root: {
    flags: '--root <dir>',
    text: 'the folder that the tools read and write (default: the current one)',
    parse: notAFlag,
  },
  maxRequests: {
    flags: '--max-requests <n>',
    text: 'send no more requests than this to models while the server runs',
    parse: whole(1),
  },
  readOnly: { flags: '--read-only', text: 'offer no tool that writes files' },
  printConfig: {
    flags: '--print-config <client>',
    text: `print the entry for the configuration of a client: ${clientNames.join(', ')}`,
    parse: oneOfWords(clientNames),
    values: clientNames,
  },
} satisfies FlagTable;

type McpFlags = FlagValues<typeof mcpFlags> &
  Pick<ConnectionFlags, 'service' | 'baseUrl' | 'timeout' | 'offline' | 'budget'>;

/** `mcp`: the commands as tools of the Model Context Protocol, on stdin and stdout. */
export function mcpCommand(command: Command): Action {
  command.usage('[flags]');
  setExamples(command, [
    'gateway-cli mcp --print-config claude-code > .mcp.json',
    'gateway-cli mcp --root pictures --max-requests 20',
    'gateway-cli mcp --offline',
  ]);
  setNotes(command, [
    'Tools: generate_image, edit_image, ask, list_models. A client starts the server, and talks to it on stdin and stdout.',
    'Paths of images and files are below --root; symbolic links out of it are refused.',
    'Keys and models come from the environment and the config file, as for every command.',
  ]);
  const { service, baseUrl, timeout, offline } = connectionFlags;
  addFlags(command, 'Flags', mcpFlags);
  addFlags(command, 'Costs', { budget: priceFlags.budget });
  addFlags(command, 'Connection', { service, baseUrl, timeout, offline });
  return (context, _words, flags) => runMcp(flags as McpFlags, context);
}

async function runMcp(flags: McpFlags, context: Context): Promise<CommandEnd> {
  const { io, root: rootFlags, ui } = context;
  if (flags.budget !== undefined) parseBudget(flags.budget, 'flag --budget');
  const budget = flags.budget && moveBudget(flags.budget, (path) => resolve(io.cwd, path));
  const folder = resolve(io.cwd, flags.root ?? '.');
  const { service, baseUrl, timeout, offline, maxRequests, readOnly } = flags;
  const passed = flagWords({ profile: rootFlags.profile, service, 'base-url': baseUrl, timeout, offline });
  const client = flags.printConfig === undefined ? undefined : mcpClients[flags.printConfig];
  if (client) {
    const limits = flagWords({ 'max-requests': maxRequests, 'read-only': readOnly, budget });
    const entry = client.entry(['mcp', '--root', folder, ...limits, ...passed]);
    const { file } = client;
    if (!rootFlags.json) await io.stdout.write(entry);
    await ui.notice(`paste this into ${file}`);
    return { document: { schema: 'gateway-cli/mcp-config@1', client: flags.printConfig, file, entry } };
  }
  const root = await openRoot(folder);
  if (io.stdin.kind === 'terminal')
    await ui.notice(
      'this server waits for a client on stdin; gateway-cli mcp --print-config <client> prints its entry',
    );
  // A variable: the command that lists models has no such flag.
  const env = absolutePaths(budget === undefined ? io.env : { ...io.env, GATEWAY_BUDGET: budget }, io.cwd);
  const serving = serveTools({ root, flags: passed, env, readOnly: readOnly === true, maxRequests }, context);
  const error: unknown = await serving.then(undefined, (thrown: unknown) => thrown);
  // stdout carries only the protocol.
  return { isPrinted: true, error };
}

/** The environment for commands that run in another folder than this one. */
function absolutePaths(env: Environment, cwd: string): Environment {
  const { GATEWAY_BUDGET: budget } = env;
  const paths = ['GATEWAY_CONFIG', 'GATEWAY_API_KEY_FILE', 'NODE_EXTRA_CA_CERTS'].flatMap((name) => {
    const path = env[name];
    return path === undefined || path === '' ? [] : [[name, resolve(cwd, path)]];
  });
  return {
    ...env,
    ...Object.fromEntries(paths),
    ...(budget && { GATEWAY_BUDGET: moveBudget(budget, (path) => resolve(cwd, path)) }),
  };
}

/** Longer side of a preview, in pixels. */
const previewSide = 256;
/** Quality of a JPEG, 1 … 100. */
const previewQuality = 75;
/** Time in ms after which no further image is decoded: the caller waits. */
const previewsMs = 5000;

/**
 * `__preview <image>…`: prints small JPEGs in Base64 as JSON, null for an image that cannot be decoded. The server runs it in a
 * process of its own: a large image takes seconds and hundreds of MiB.
 */
export function previewCommand(command: Command): Action {
  command.argument('<images...>');
  return async ({ io }, paths) => {
    const end = io.elapsed() + previewsMs;
    const previews: (string | null)[] = [];
    for (const path of paths) {
      if (io.elapsed() > end) break;
      previews.push(await makePreview(path).catch(() => null));
    }
    await io.stdout.write(JSON.stringify({ previews }));
  };
}

/** The Base64 of a JPEG of at most `previewSide` pixels on its longer side; transparent pixels become white. */
async function makePreview(path: string): Promise<string | null> {
  const pixels = await decodePreview(await readFile(path), '');
  if ('reason' in pixels) return null;
  const scale = Math.min(1, previewSide / Math.max(pixels.width, pixels.height));
  const scaled = (length: number): number => Math.max(1, Math.round(length * scale));
  const { width, height, data } = shrink(pixels, scaled(pixels.width), scaled(pixels.height));
  return jpeg.encode({ width, height, data: overWhite(data) }, previewQuality).data.toString('base64');
}

function overWhite(data: Uint8Array): Uint8Array {
  return data.map((value, at) => {
    const alpha = data[at | 3] ?? 255;
    return Math.round((value * alpha) / 255 + 255 - alpha);
  });
}
