import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { bareEnv, bin } from '../../../helpers/spawn.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

/** A client of the official SDK, connected to the built program. */
export interface Connected {
  client: Client;
  root: string;
  pid: number;
  call(name: string, args: object, options?: Parameters<Client['callTool']>[2]): Promise<ToolResult>;
}

interface ToolResult {
  content: { type: string; text?: string; uri?: string; mimeType?: string; data?: string }[];
  structuredContent: Record<string, unknown>;
  isError?: boolean;
}

/** Starts `gateway-cli mcp` with these flags, by default in a new folder. */
export async function connect(
  flags: readonly string[],
  env: Record<string, string> = {},
  root = scratchFolder(),
): Promise<Connected> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bin, 'mcp', ...flags],
    cwd: root,
    env: bareEnv(root, env),
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  return {
    client,
    root,
    pid: transport.pid ?? 0,
    call: async (name, args, options) =>
      (await client.callTool({ name, arguments: { ...args } }, undefined, options)) as unknown as ToolResult,
  };
}
