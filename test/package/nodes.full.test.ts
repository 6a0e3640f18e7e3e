import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { faultRows } from '../gateway/faults/topic.ts';
import { shellWord } from '../../src/library/shell-word.ts';
import { installFromRegistry } from '../helpers/registry.ts';
import { startScriptedServer } from '../helpers/scripted-server.ts';
import { shell } from '../helpers/spawn.ts';
import { textReply } from '../helpers/with-server.ts';
import { type Installed, packAndInstall } from './installed.ts';
import { isFull } from '../helpers/full.ts';

/** Each other version comes from the npm package `node`, which ships the binary: a network, or npm's cache, is needed. */

const dotPng = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const certificates = join(import.meta.dirname, '../fixtures/tls');
const pem = (name: string): string => readFileSync(join(certificates, name), 'utf8');

const majors = ['20', '22', '24', '26'];

describe.skipIf(!isFull)('the installed package on other versions of Node', () => {
  let installed: Installed;
  beforeAll(() => {
    installed = packAndInstall();
  }, 300_000);
  afterAll(() => installed.remove());

  describe.each(majors.map((major, turn) => ({ major, turn })))('Node $major', ({ major, turn }) => {
    let cwd: string;
    let env: Record<string, string>;
    beforeAll(async () => {
      cwd = join(installed.cwd, `node${major}`);
      mkdirSync(cwd);
      const node = await nodeOf(major, cwd);
      env = { NODE: node, GW: `${node} ${join(installed.cwd, 'node_modules/gateway-cli/bin/gateway-cli.js')}` };
    }, 180_000);

    test('draws, chats, streams and opens the library', async () => {
      const script = `set -e
        $NODE --version
        $GW image gen --offline "a lighthouse at dusk" --aspect 16:9 -o dusk.png
        $GW image edit --offline -i dusk.png "make it gray" -o gray.png
        $GW text --offline hi --json | jq -r .ok
        $GW chat --offline hi > said.txt && test -s said.txt
        $GW doctor --offline --live > doctor.txt
        $NODE --input-type=module -e "import { createClient } from 'gateway-cli'; console.log(typeof createClient)"`;
      const ran = await shell(script, { cwd, env });
      expect(ran.stderr).toBe('');
      expect(ran.stdout).toMatch(new RegExp(`^v${major}\\..*\\ndusk\\.png\\ngray\\.png\\ntrue\\nfunction\\n$`));
      expect(readdirSync(cwd)).toContain('gray.png');
    }, 60_000);

    test('ends every fault model with the exit code of the table', async () => {
      writeFileSync(join(cwd, 'dot.png'), Buffer.from(dotPng, 'base64'));
      const faultRuns = faultRunsOf(turn);
      const lines = faultRuns.map(({ name, argv }) => `$GW ${argv} > /dev/null 2>&1; echo "${name} $?"`);
      writeFileSync(join(cwd, 'faults'), lines.join('\n'));
      const fourAtOnce = `xargs -a faults -d '\\n' -P 4 -I{} bash -c {}`;
      const ran = await shell(`$GW serve -q --fault-delay 50 -- ${fourAtOnce}`, { cwd, env });
      expect(ran.stderr).toBe('');
      const ended = faultRuns.map(({ name, exitCode }) => `${name} ${exitCode}`);
      expect(ran.stdout.trimEnd().split('\n').toSorted()).toEqual(ended.toSorted());
    }, 600_000);

    test('trusts what the store of the system holds with --system-ca, or says that it cannot', async () => {
      const pair = { cert: pem('server.pem'), key: pem('server.key') };
      const server = await startScriptedServer({ tls: pair });
      if (major !== '20') server.reply({ body: textReply('hello') });
      const ran = await shell('$GW text hi -m m --system-ca', {
        cwd,
        // OpenSSL takes a file from this variable for the store.
        env: {
          ...env,
          SSL_CERT_FILE: join(certificates, 'ca.pem'),
          SSL_CERT_DIR: certificates,
          GATEWAY_BASE_URL: `https://localhost:${server.port}`,
          GATEWAY_API_KEY: 'k-123456',
        },
      });
      await server.close();
      if (major === '20') expect(ran).toMatchObject({ code: 2, stdout: '' });
      else expect(ran).toMatchObject({ code: 0, stdout: 'hello\n', stderr: '' });
    }, 60_000);

    test('replays a stream that was cut to the piece where it was cut', async () => {
      const script = `
        echo '{"profiles":{"work":{"baseUrl":"'$GATEWAY_BASE_URL'","apiKey":"'$GATEWAY_API_KEY'"}}}' > config.json
        chmod 600 config.json; export GATEWAY_CONFIG=$PWD/config.json
        ask="$GW chat -m fault-cut --retries 0 hi"
        $GW serve -q --upstream work --record kept -- $ask > first; echo $?
        $GW serve -q --replay kept -- $ask > again; echo $?
        test -s first && cmp first again`;
      writeFileSync(join(cwd, 'replay.sh'), script);
      const ran = await shell('$GW serve -q -- bash replay.sh', { cwd, env });
      expect(ran).toMatchObject({ code: 0, stdout: '11\n11\n' });
    }, 60_000);
  });
});

/** The program of a version: the one that runs this test, or one that npm installs. */
async function nodeOf(major: string, cwd: string): Promise<string> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  await installFromRegistry(cwd, `node@${major}`);
  return join(cwd, 'node_modules/node/bin/node');
}

/** Every fault model with one of its commands: each version begins with the next, so that together they try them all. */
function faultRunsOf(turn: number): { name: string; exitCode: number; argv: string }[] {
  return faultRows.map(({ name, commands, exitCode, flags }, row) => {
    const command = commands[(row + turn) % commands.length] ?? '';
    const input = command === 'image edit' ? '-i dot.png' : '';
    const patience = `--timeout ${/-(hang|stall)$/.test(name) ? '4s' : '2m'}`;
    const retries = `--retries ${/-(once|twice)$/.test(name) ? 2 : 0}`;
    const prompt = shellWord(`hi ${command}`);
    return {
      name: `${name} ${command}`,
      exitCode,
      argv: `${command} ${prompt} -m ${name} ${input} ${flags} ${patience} ${retries}`,
    };
  });
}
