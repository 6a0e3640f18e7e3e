import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { encodePng } from '../../../src/library/images/pixels/codec.ts';
import { shell } from '../../helpers/spawn.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

/** The most memory that a gateway held, in kB, for a number of edits of one picture at the same time. */
async function maxMemory(edits: number, picture: Uint8Array): Promise<number> {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'big.png'), picture);
  const ran = await shell(
    `node $BIN serve --port 0 -q > exports & gateway=$!; until grep -qs export exports; do :; done; . ./exports
     edits=; for i in $(seq ${edits}); do
       node $BIN image edit -i big.png "make it gray" -m local-edit -o $i.png > /dev/null & edits="$edits $!"
     done
     for edit in $edits; do wait $edit || exit 1; done
     sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/$gateway/status; kill $gateway`,
    { cwd },
  );
  expect(ran.code).toBe(0);
  return Number(ran.stdout);
}

test('four edits of a small file with many pixels hold little more than one', async () => {
  const [width, height] = [8000, 5000];
  const picture = await encodePng({ width, height, data: new Uint8Array(width * height * 4).fill(255) });
  expect(picture.length).toBeLessThan(1_000_000);
  const one = await maxMemory(1, picture);
  expect(one).toBeGreaterThan(0);
  expect(await maxMemory(4, picture)).toBeLessThan(1.7 * one);
}, 120_000);
