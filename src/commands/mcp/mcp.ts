import { resolve } from 'node:path';
import type { Command } from 'commander';
import {
  addFlags,
  type FlagTable,
  type FlagValues,
  notAFlag,
  oneOf,
  setExamples,
  setNotes,
  whole,
} from '../../cli/flags/flag.ts';
import { connectionFlags, priceFlags } from '../../cli/flags/shared.ts';
import type { ConnectionFlags } from '../../cli/run/settings.ts';
import type { Action, Context } from '../../cli/context.ts';
import { absoluteBudget, parseBudget } from '../../settings/values.ts';
import type { Environment } from '../../settings/sources.ts';
import { flagWords } from './tools.ts';

export { previewCommand } from './preview.ts';

/** How a server is started. */
interface Start {
  command: string;
  args: readonly string[];
}

/** Where a client has its servers, and the entry to paste there. */
interface McpClient {
  file: string;
  entry(start: Start): string;
}

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;
const servers = ({ command, args }: Start): string => json({ mcpServers: { 'gateway-cli': { command, args } } });

/** The clients whose configuration is documented. */
const mcpClients: Readonly<Record<string, McpClient>> = {
  'claude-desktop': { file: 'claude_desktop_config.json, which Settings > Developer opens', entry: servers },
  'claude-code': { file: '.mcp.json in the folder of the project', entry: servers },
  cursor: { file: '.cursor/mcp.json in the folder of the project, or ~/.cursor/mcp.json', entry: servers },
  'gemini-cli': {
    file: '.gemini/settings.json in the folder of the project, or ~/.gemini/settings.json',
    entry: servers,
  },
  vscode: {
    file: '.vscode/mcp.json in the folder of the project',
    entry: ({ command, args }) => json({ servers: { 'gateway-cli': { type: 'stdio', command, args } } }),
  },
  codex: {
    file: '~/.codex/config.toml',
    entry: ({ command, args }) =>
      `[mcp_servers.gateway-cli]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`,
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
    parse: oneOf(clientNames),
    values: clientNames,
  },
} satisfies FlagTable;

type Flags = FlagValues<typeof mcpFlags> &
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
  return (context, _words, flags) => runMcp(flags as Flags, context);
}

async function runMcp(flags: Flags, context: Context): Promise<void> {
  const { io, root: rootFlags, ui, report } = context;
  if (flags.budget !== undefined) parseBudget(flags.budget, 'flag --budget');
  const budget = flags.budget && absoluteBudget(flags.budget, io.cwd);
  const folder = resolve(io.cwd, flags.root ?? '.');
  const { service, baseUrl, timeout, offline, maxRequests, readOnly } = flags;
  const passed = flagWords({ profile: rootFlags.profile, service, 'base-url': baseUrl, timeout, offline });
  const client = flags.printConfig === undefined ? undefined : mcpClients[flags.printConfig];
  if (client) {
    const limits = flagWords({ 'max-requests': maxRequests, 'read-only': readOnly, budget });
    const entry = client.entry({ command: 'gateway-cli', args: ['mcp', '--root', folder, ...limits, ...passed] });
    const { file } = client;
    if (rootFlags.json) report.own = { schema: 'gateway-cli/mcp-config@1', client: flags.printConfig, file, entry };
    else await io.stdout.write(entry);
    return ui.note(`paste this into ${file}`);
  }
  const { openRoot } = await import('./root-folder.ts');
  const root = await openRoot(folder);
  if (io.stdin.kind === 'terminal')
    await ui.note('this server waits for a client on stdin; gateway-cli mcp --print-config <client> prints its entry');
  const { serveTools } = await import('./server.ts');
  // stdout carries the protocol alone.
  report.printed = true;
  // A variable: the command that lists models has no such flag.
  const env = absolutePaths(budget === undefined ? io.env : { ...io.env, GATEWAY_BUDGET: budget }, io.cwd);
  await serveTools({ root, flags: passed, env, readOnly: readOnly === true, maxRequests }, context);
}

/** The environment for commands that run in another folder than this one. */
function absolutePaths(env: Environment, cwd: string): Environment {
  const { GATEWAY_BUDGET: budget } = env;
  const paths = ['GATEWAY_CONFIG', 'GATEWAY_API_KEY_FILE', 'NODE_EXTRA_CA_CERTS'].flatMap((name) => {
    const path = env[name];
    return path === undefined || path === '' ? [] : [[name, resolve(cwd, path)]];
  });
  return { ...env, ...Object.fromEntries(paths), ...(budget && { GATEWAY_BUDGET: absoluteBudget(budget, cwd) }) };
}
