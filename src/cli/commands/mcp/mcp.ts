import { resolve } from 'node:path';
import type { Command } from 'commander';
import { addFlags, type FlagTable, type FlagValues, notAFlag, setExamples, setNotes, whole } from '../../flags/flag.ts';
import { connectionFlags, priceFlags } from '../../flags/shared.ts';
import type { ConnectionFlags } from '../../run/settings.ts';
import type { Action, Context, CommandEnd } from '../../context.ts';
import { moveBudget, parseBudget } from '../../settings/values.ts';
import type { Environment } from '../../settings/sources.ts';
import { flagWords, openRoot } from './tools.ts';
import { serveTools } from './server.ts';

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
} satisfies FlagTable;

type McpFlags = FlagValues<typeof mcpFlags> &
  Pick<ConnectionFlags, 'service' | 'baseUrl' | 'timeout' | 'offline' | 'budget'>;

/** `mcp`: the commands as tools of the Model Context Protocol, on stdin and stdout. */
export function mcpCommand(command: Command): Action {
  command.usage('[flags]');
  setExamples(command, ['gateway-cli mcp --root pictures --max-requests 20', 'gateway-cli mcp --offline']);
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
  const { service, baseUrl, timeout, offline, maxRequests, readOnly, budget } = flags;
  const passed = flagWords({ profile: rootFlags.profile, service, 'base-url': baseUrl, timeout, offline });
  const root = await openRoot(resolve(io.cwd, flags.root ?? '.'));
  if (io.stdin.kind === 'terminal')
    await ui.notice('this server waits for a client on stdin; entries for clients: gateway-cli help agents');
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
