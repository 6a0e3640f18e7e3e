import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, type Ran } from '../../helpers/run.ts';

/** Texts that would do something if a browser took them for more than text. */
export const hostile = [
  '<script>document.title="owned"</script>',
  '"><img src=x onerror=document.title="owned">',
  "' onmouseover='document.title=1",
  '</style></script><svg onload=document.title="owned">',
  'javascript:document.title="owned"',
  '\u202eevil\u0000\u001b[2J',
];

/** Runs a batch of these texts, a picture and a refusal offline, and makes its gallery. */
export async function makeGallery(cwd: string): Promise<Ran> {
  const jobs = hostile.map((prompt, i) => ({ id: `t${i}`, prompt }));
  const lines = [
    ...jobs,
    { id: 'lighthouse', command: 'image gen', prompt: 'a lighthouse at dusk', aspect: '16:9' },
    { id: 'blocked', command: 'image gen', prompt: 'x', model: 'fault-blocked' },
  ];
  writeFileSync(join(cwd, 'jobs.jsonl'), lines.map((job) => JSON.stringify(job)).join('\n'));
  await run(['batch', 'jobs.jsonl', '-o', 'out', '--offline', '--retries', '0'], { cwd });
  return run(['batch', 'gallery', 'out'], { cwd });
}
