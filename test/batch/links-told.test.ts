import { describe, expect } from 'vitest';
import { manyJobs, test } from './with-batch.ts';

const outline = { id: 'outline', prompt: 'Plan a trip' };
const chapter = { id: 'chapter', prompt: 'Write it: {{@outline.text}}' };
const epilogue = { id: 'epilogue', prompt: 'End it: {{@outline.text}}' };

describe('what people are told of jobs that use results of others', () => {
  test('a job that --redo makes again after one that it uses was not edited', async ({ folder, batch }) => {
    folder.jobs(outline, chapter, epilogue);
    await batch();
    const { code, stderr } = await batch(['--redo', 'outline,chapter']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('1 is sent again, 1 for the first time\n')]);
    expect(stderr).not.toContain('edited');
  });

  test('a job that --redo names and --limit leaves keeps what it made of the earlier result, too', async ({
    folder,
    batch,
  }) => {
    folder.jobs(outline, chapter, epilogue);
    await batch();
    const { code, stderr } = await batch(['--redo', 'outline,chapter', '--limit', '1']);
    expect(code).toBe(0);
    expect(stderr).toContain('1 job keeps what it made of an earlier result: epilogue; ');
  });

  test('jobs that wait for one that failed, and is not sent again, are not counted as sent now', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(outline, chapter, { id: 'title', prompt: 'Name it: {{@chapter.text}}' });
    server.answer = () => ({ status: 400 });
    await batch();
    server.answer = () => undefined;
    expect((await batch()).stderr).toContain('0 done, 1 failed, 2 not sent yet; 0 are sent now\n');
    folder.jobs(outline, chapter, ...manyJobs(1));
    expect((await batch()).stderr).toContain('0 done, 1 failed, 2 not sent yet; 1 is sent now\n');
    expect((await batch(['--retry', 'failed'])).stderr).toContain('1 is sent again, 1 for the first time\n');
  });
});

test('a dry run says which of the jobs to be sent again --limit leaves, and counts them once', async ({
  folder,
  batch,
}) => {
  folder.jobs(...manyJobs(4));
  await batch();
  folder.jobs(...manyJobs(3).map((job) => ({ ...job, system: 'edited' })), ...manyJobs(4).slice(3));
  const limited = ['--accept-changes', '--limit', '1'];
  const told = '1 to send, 1 done, 2 not sent yet\n';
  expect((await batch([...limited, '--dry-run'])).stdout).toContain(`4 jobs checked, ${told}`);
  expect((await batch([...limited, '--estimate'])).stdout).toContain(`1 job ${told.slice(2)}`);
});
