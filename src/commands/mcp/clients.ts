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
export const mcpClients: Readonly<Record<string, McpClient>> = {
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
