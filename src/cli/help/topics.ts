/** The topics of `help <topic>`; each is a file of `src/help/`. */
export const topicSummaries: Readonly<Record<string, string>> = {
  agents: 'tools over MCP, a skill, help as data',
  batch: 'jobs, resuming, shards, galleries',
  chat: 'conversations, sessions, tools',
  ci: 'GitHub Actions, GitLab CI',
  costs: 'prices, what requests cost, limits, budgets',
  'exit-codes': 'every exit code, finish reasons, retries',
  faults: 'models that fail on demand',
  fields: 'every field of the three formats and its flag',
  images: 'output files, input files, recovery',
  library: 'the client as a Node package',
  output: 'the JSON document, key by key',
  recipes: 'commit messages, editors, make, pre-commit',
  recording: 'recorded exchanges: replays, a cache',
  serve: 'the local gateway, offline models',
  services: 'six services, three formats, headers, profiles, models',
  settings: 'variables, config file, keys, proxies, certificates',
  templates: 'prompts with blanks, prompt files, rows of a table',
  testing: 'a gateway inside your tests',
};

export const topics: readonly string[] = Object.keys(topicSummaries);
