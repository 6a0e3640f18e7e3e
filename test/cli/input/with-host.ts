import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ScriptedServer, startScriptedServer } from '../../helpers/scripted-server.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { test as base } from '../../helpers/with-server.ts';
import { authority, serverPair } from '../../library/transport/certificates.ts';

/** A host of pictures beside the gateway, and the flags that trust it. */
export const test = base.extend<{ host: ScriptedServer; trust: readonly string[] }>({
  host: async ({}, use) => {
    const host = await startScriptedServer({ tls: serverPair });
    await use(host);
    await host.close();
  },
  trust: async ({}, use) => {
    const path = join(scratchFolder(), 'ca.pem');
    writeFileSync(path, authority);
    await use(['--cacert', path]);
  },
});
