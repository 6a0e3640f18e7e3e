import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { isFull } from '../../helpers/full.ts';

const script = join(import.meta.dirname, 'two-addresses.js');
const library = join(import.meta.dirname, '../../../dist/cjs/index.js');
const hosts = join(scratchFolder(), 'hosts');
writeFileSync(hosts, '127.0.0.2 two.test\n127.0.0.3 two.test\n');

/** Runs a command with the addresses of `two.test`: in a mount namespace of its own. */
function inside(...command: string[]): string {
  const mounted = ['-c', 'mount --bind "$0" /etc/hosts && exec "$@"', hosts, ...command];
  return execFileSync('unshare', ['-rm', 'sh', ...mounted], { encoding: 'utf8' });
}

const canMount = spawnSync('unshare', ['-rm', 'mount', '--bind', hosts, '/etc/hosts']).status === 0;
const isAway = !canMount && !isFull;

test.skipIf(isAway).each(['direct', 'proxy'])(
  'happy eyeballs: an address of a far host has more than a second to answer, then the next is tried: %s (needs unshare)',
  (way) => {
    // Even if Node is set to use only the first address.
    expect(inside(process.execPath, '--no-network-family-autoselection', script, library, way)).toBe(
      'one second, second address',
    );
  },
);
