import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { compileSchema } from '../../../../src/cli/input/schema.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { eventStream, messageEvents, test, textReply } from '../../../helpers/with-server.ts';

const endless = { pattern: '^(a+)+$' };
const endlessAnswer = `"${'a'.repeat(60)}b"`;

test.for([['text'], ['chat']] as const)(
  '%s prints an answer that cannot be checked in time, and is exit 11',
  async ([command], { server, cli }) => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 's.json'), JSON.stringify(endless));
    // To start the thread is no part of the time.
    await compileSchema(endless);
    const body = command === 'text' ? textReply(endlessAnswer) : eventStream(...messageEvents(endlessAnswer));
    server.reply({ body });
    const ran = await cli([command, 'x', '--schema', 's.json', '--timeout', '8'], { cwd });
    expect(ran).toMatchObject({ code: 11, stdout: `${endlessAnswer}\n` });
    expect(ran.stderr).toContain('incomplete: the answer was not checked against the schema');
  },
);
