import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { run } from '../../helpers/run.ts';
import { shell } from '../../helpers/spawn.ts';
import { environmentFor, test } from '../with-batch.ts';

const text = (body: Record<string, unknown>) => /"text":"(.*?)"\}/.exec(JSON.stringify(body))?.[1];

test('the built program fills a prompt, and sends each row of a table once, until a row is edited', async ({
  server,
  folder,
}) => {
  const options = { cwd: folder.cwd, env: environmentFor(server) };
  writeFileSync(join(folder.cwd, 'rows.csv'), '\uFEFFkey,city\r\nr,"Rome,\r\n""old"""\r\no,Ōslo\r\n');
  folder.write('p.prompt.yml', 'messages: [{role: user, content: "see {{city}}"}]');
  const ask = 'node $BIN text --prompt-file p.prompt.yml --vars \'{"city":"Bern"}\'';
  expect(await shell(ask, options)).toMatchObject({ code: 0, stderr: '' });
  const batch = 'batch --data rows.csv --template p.prompt.yml --id-column key -o out --concurrency 1';
  expect(await shell(`node $BIN ${batch}`, options)).toMatchObject({ code: 0 });
  // What it left is the same for a run in this process.
  const again = (line: string) => run(line.split(' '), options);
  expect(await again(batch)).toMatchObject({ code: 0 });
  expect(server.bodies.map(({ body }) => text(body))).toEqual([
    'see Bern',
    String.raw`see Rome,\r\n\"old\"`,
    'see Ōslo',
  ]);
  folder.write('rows.csv', 'key,city\no,Ōslo\nr,Roma\n');
  expect(await again(batch)).toMatchObject({ code: 14 });
  expect(await again(`${batch} --accept-changes`)).toMatchObject({ code: 0 });
  expect(server.bodies.slice(3).map(({ body }) => text(body))).toEqual(['see Roma']);
  expect((await again('batch status out')).stdout).toContain('2');
});
