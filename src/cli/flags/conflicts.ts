/** Flags that exclude each other, whatever their values: exit code 2. The commands check it; this is what they say in data. */
export const conflicts: Readonly<Record<string, readonly string[]>> = {
  '--curl': ['--field', '--json', '--jsonl', '--raw'],
  '--continue': ['--no-save', '--raw', '--session'],
  '--dry-run': ['--curl', '--field', '--jsonl', '--raw'],
  '--field': ['--json', '--jsonl', '--raw'],
  '--json': ['--jsonl'],
  '--no-vars': ['--var'],
  '--offline': ['--base-url'],
  '--prompt': ['--prompt-file'],
  '--raw': ['--code', '--json', '--jsonl', '--output', '--preview', '--sidecar', '--strict'],
  '--session': ['--no-save', '--raw'],
  '--stream': ['--data', '--estimate', '--prompts', '--shard', '--template'],
  '--system': ['--system-file'],
};
