import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startCountingServer } from '../batch/counting-server.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { lacks } from '../helpers/screen.ts';
import { shell } from '../helpers/spawn.ts';
import { recipes, workspace } from './recipe.ts';

const tasks = 8;

const jobs = Array.from({ length: 160 }, (_, i) => ({ id: `job-${i}`, prompt: `number ${i}` }));

/** Unused ports: Slurm does not accept port 0. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

/** A cluster of one node with a place for each task; it needs neither systemd, cgroups nor munge. */
async function startSlurm(): Promise<{ env: Record<string, string>; slurm: (command: string) => string }> {
  const folder = scratchFolder();
  for (const name of ['state', 'spool']) mkdirSync(join(folder, name));
  const [control, node] = await freePorts(2);
  const host = hostname().split('.')[0];
  const settings = `ClusterName=test
SlurmctldHost=${host}(127.0.0.1)
SlurmUser=root
SlurmctldPort=${control}
SlurmdPort=${node}
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_interval=1
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
StateSaveLocation=${folder}/state
SlurmdSpoolDir=${folder}/spool
SlurmctldPidFile=${folder}/slurmctld.pid
SlurmdPidFile=${folder}/slurmd.pid
NodeName=one NodeHostname=${host} NodeAddr=127.0.0.1 CPUs=${tasks} RealMemory=8192 State=UNKNOWN
PartitionName=all Nodes=one Default=YES MaxTime=INFINITE State=UP
`;
  writeFileSync(join(folder, 'slurm.conf'), settings);
  const env = { SLURM_CONF: join(folder, 'slurm.conf') };
  const slurm = (command: string): string =>
    execFileSync('bash', ['-c', command], { env: { ...process.env, ...env }, encoding: 'utf8' }).trim();
  const begun: ChildProcess[] = [];
  onTestFinished(async () => {
    // A step outlives the daemons until it has reported its end.
    slurm('scancel --user=root');
    await expect.poll(() => slurm('squeue -h'), { timeout: 60_000, interval: 200 }).toBe('');
    for (const child of begun) {
      child.kill();
      await once(child, 'close');
    }
  }, 90_000);
  for (const [program, ...argv] of [
    ['slurmctld', '-D', '-i'],
    ['slurmd', '-D', '-N', 'one'],
  ]) {
    const log = openSync(join(folder, `${program}.log`), 'w');
    begun.push(spawn(program as string, argv, { env: { ...process.env, ...env }, stdio: ['ignore', log, log] }));
  }
  await expect.poll(() => slurm('sinfo -h -o %T 2>&1; true'), { timeout: 60_000, interval: 200 }).toBe('idle');
  return { env, slurm };
}

test.skipIf(lacks('slurmctld', 'slurmd', 'sbatch'))(
  'Slurm runs the tasks of the array, goes on with a killed one, and no job is paid twice',
  { timeout: 480_000 },
  async () => {
    const server = await startCountingServer();
    onTestFinished(() => server.close());
    // Of the third task's jobs four are answered; then eight are under way, and the rest waits.
    const at = workspace();
    const thirdPrompts = new Set<string>();
    // Each task writes which rows are its own before it sends any.
    const readThird = (): void => {
      const path = join(at.cwd, 'out-3/jobs.jsonl');
      const lines = existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n').slice(1) : [];
      const rows = lines.map((line) => JSON.parse(line) as { prompt: string; other?: true });
      for (const { prompt, other } of rows) if (!other) thirdPrompts.add(prompt);
    };
    const third = { asked: 0, isKilled: false };
    server.answer = (prompt) => {
      if (thirdPrompts.size === 0) readThird();
      return thirdPrompts.has(prompt) && ++third.asked > 4 && !third.isKilled
        ? { after: new Promise(() => {}) }
        : undefined;
    };

    const { env, slurm } = await startSlurm();
    writeFileSync(join(at.cwd, 'jobs.jsonl'), jobs.map((job) => `${JSON.stringify(job)}\n`).join(''));
    writeFileSync(join(at.cwd, 'key'), 'canary-7f3a9c51-secret', { mode: 0o600 });
    const script = join(recipes, 'batch-slurm.sbatch');
    const { PATH = '' } = at.env;
    const gateway = { PATH, GATEWAY_BASE_URL: server.url, GATEWAY_MODEL: 'm', GATEWAY_API_KEY_FILE: `${at.cwd}/key` };
    const sent = await shell(`sbatch --parsable ${script}`, { cwd: at.cwd, env: { ...gateway, ...env } });
    expect(sent).toMatchObject({ code: 0, stderr: '' });
    const task = `${sent.stdout.trim()}_3`;
    const stateOf = (): string => /JobState=(\w+)/.exec(slurm(`scontrol show job ${task}`))?.[1] ?? '';

    await expect.poll(() => third.asked, { timeout: 120_000 }).toBe(12);
    const lock = JSON.parse(readFileSync(join(at.cwd, 'out-3/lock.json'), 'utf8')) as { pid: number };
    process.kill(lock.pid, 'SIGKILL');
    third.isKilled = true;
    // While Slurm clears up, it is COMPLETING.
    await expect.poll(stateOf, { timeout: 60_000, interval: 200 }).toBe('FAILED');
    slurm(`scontrol requeue ${task}`);
    // Slurm makes a requeued task wait for two minutes, as its node refuses what is granted in the second in which it cleared up
    // behind the run before ("already killed"), and the task then counts as failed. Two seconds are enough for that.
    slurm(`scontrol update jobid=${task} StartTime=now+2`);
    // Only a run that came to its end has a summary, and the killed one had none.
    const progress = (): string =>
      existsSync(join(at.cwd, 'out-3/summary.json'))
        ? 'ended'
        : slurm(`scontrol show job ${task}; tail ${at.cwd}/slurm-*_3.out`);
    await expect.poll(progress, { timeout: 240_000, interval: 500 }).toBe('ended');
    await expect.poll(() => slurm('squeue -h'), { timeout: 120_000, interval: 200 }).toBe('');
    expect(slurm(`scontrol show job ${task}`)).toContain('Restarts=1');

    const status = await shell('gateway-cli batch status out-{1..8} --json', at);
    expect(status).toMatchObject({ code: 0 });
    const summary = JSON.parse(status.stdout) as Record<string, number>;
    expect(summary).toMatchObject({ jobs: jobs.length, failed: 0 });
    // Those that were under way may have been paid for: they are not sent again automatically.
    expect(summary['unknown']).toBeGreaterThanOrEqual(8);
    expect(summary['unknown']).toBeLessThanOrEqual(12);
    expect((summary['done'] ?? 0) + (summary['unknown'] ?? 0)).toBe(jobs.length);
    expect([...server.counts].toSorted()).toEqual(jobs.map(({ prompt }) => [prompt, 1]).toSorted());
  },
);
