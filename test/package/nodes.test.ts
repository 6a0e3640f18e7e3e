import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shell } from '../helpers/spawn.ts';
import { type Installed, packAndInstall } from './installed.ts';

/** Each version comes from the npm package `node`, which ships the binary: a network is needed. */
const isFull = process.env['GATEWAY_CLI_TEST_FULL'] === '1';

describe.skipIf(!isFull)('the installed package on other versions of Node', () => {
  let installed: Installed;
  beforeAll(() => {
    installed = packAndInstall();
  }, 300_000);
  afterAll(() => installed.remove());

  test.each([['20'], ['22'], ['24'], ['26']])(
    'Node %s draws, chats, streams and opens the library',
    async (major) => {
      const { cwd } = installed;
      const bin = join(cwd, 'node_modules/gateway-cli/bin/gateway-cli.js');
      const script = `set -e
        mkdir -p node${major} && cd node${major} && echo '{}' > package.json
        npm install --no-audit --no-fund --loglevel error node@${major} > npm.log 2>&1 || { cat npm.log; exit 9; }
        node=$PWD/node_modules/node/bin/node
        $node --version
        $node ${bin} image gen --offline "a lighthouse at dusk" --aspect 16:9 -o dusk.png
        $node ${bin} image edit --offline -i dusk.png "make it gray" -o gray.png
        $node ${bin} text --offline hi --json | jq -r .ok
        $node ${bin} chat --offline hi > said.txt && test -s said.txt
        $node ${bin} doctor --offline --live > doctor.txt
        $node --input-type=module -e "import { createClient } from 'gateway-cli'; console.log(typeof createClient)"`;
      const ran = await shell(script, { cwd, env: { npm_config_update_notifier: 'false' } });
      expect(ran.stderr).toBe('');
      expect(ran.stdout).toMatch(new RegExp(`^v${major}\\..*\\ndusk\\.png\\ngray\\.png\\ntrue\\nfunction\\n$`));
      expect(readdirSync(join(cwd, `node${major}`))).toContain('gray.png');
    },
    180_000,
  );
});
