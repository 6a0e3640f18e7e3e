import type { Command } from 'commander';
import { lastModel } from '../../chat/message.ts';
import { usageError } from '../../../library/index.ts';
import { openCostLimit } from '../../run/costs.ts';
import { prepareCommand, prepareRequest } from '../../run/prepare.ts';
import { planBesideText, startSending } from '../../run/sending.ts';
import { answerCommand, finishText } from '../../run/answer.ts';
import { keepOutcome } from '../../output/outcome.ts';
import { type ChatFlags, confirmLeaving, describeContinued, resumeSession, storableTurns } from './session.ts';
import { openTools } from './tools.ts';
import { askTurn } from './turn.ts';
import type { Action, CommandEnd, AnswerContext } from '../../context.ts';
import { addFlags, setExamples } from '../../flags/flag.ts';
import { fieldFlags } from '../../flags/fields.ts';
import { answerFileFlags, chatFlags } from '../../flags/format.ts';
import { addAskFlags } from '../../flags/shared.ts';

/** `chat [prompt…]`: an answer, streamed; without a prompt on a terminal a conversation. */
export function chatCommand(command: Command): Action {
  command.argument('[prompt...]', 'the prompt, joined by spaces').usage('[prompt…] [flags]');
  setExamples(command, [
    'gateway-cli chat                                  # a conversation, on a terminal',
    'git diff | gateway-cli chat "write a commit message"',
    'gateway-cli chat -i diagram.png "what is missing here?"',
    'gateway-cli chat --session trip "three days in Rome"',
    'gateway-cli chat --tools tools.json --tool-exec \'get_weather=./weather.sh\' "weather in Rome?"',
  ]);
  addFlags(command, 'Flags', {
    ...fieldFlags('input', 'chat'),
    ...answerFileFlags,
    ...fieldFlags('chat', 'chat'),
    ...chatFlags,
  });
  addAskFlags(command, 'chat');
  return async (context, words, flags) => {
    const typed = flags as ChatFlags;
    return answerCommand(typed, { use: 'chat', context }, (answerContext) => runChat(words, typed, answerContext));
  };
}

async function runChat(words: readonly string[], typed: ChatFlags, context: AnswerContext): Promise<CommandEnd | void> {
  const isSession = typed.session !== undefined || typed.continue;
  const resumed = isSession ? await resumeSession(typed, context) : undefined;
  const kept = resumed && { ...lastModel(resumed.earlier), from: `session ${resumed.label}` };
  const prepared = await prepareCommand(words, typed, 'chat', { context, kept });
  const { flags, settings, deadline } = prepared;
  if (resumed?.newest) await context.ui.notice(await describeContinued(resumed.newest, resumed.earlier, settings));
  if (resumed) await confirmLeaving(resumed.earlier, flags, settings, context);
  if (isInteractive(words, flags, context)) {
    if (context.selected?.file)
      throw usageError('-o writes one answer, and a conversation has many', 'keep it all: --session <name>');
    const { runInteractive } = await import('./interactive.ts');
    return runInteractive(flags, { context, settings, resumed });
  }
  const building = { ...prepared, earlier: resumed?.earlier };
  const request = await prepareRequest(words, flags, building);
  const tools = await openTools(flags, request, { context });
  const plan = await planBesideText(flags, request, context);
  const { maxCost } = flags;
  const openLimit = maxCost === undefined ? undefined : () => openCostLimit(maxCost, settings);
  const sending = await startSending(request, plan, { ...prepared, isKept: resumed?.file !== undefined, openLimit });
  if ('ended' in sending) return sending.ended;

  const turn = await askTurn(request, { context, settings, flags, ...sending, tools, deadline: deadline() });
  const { outcome, schemaAnswer } = turn;
  return keepOutcome(outcome, async () => {
    const { reply, error } = outcome;
    if (reply === undefined) return { outcome, error };
    const finished = await finishText({ ...outcome, reply }, { plan, schemaAnswer }, prepared);
    const file = resumed?.file;
    if (finished.error !== undefined || finished.outcome === undefined || file === undefined) return finished;
    return keepOutcome(finished.outcome, async () => {
      const messages = await storableTurns(turn, request, context);
      if (messages) await file.append(messages);
      else await context.ui.warn('the answer holds nothing that a session can keep');
      return finished;
    });
  });
}

/** Whether to begin a conversation: no prompt in any form, a person at both ends, and nothing else that wants stdin or stdout. */
function isInteractive(words: readonly string[], flags: ChatFlags, { io, root }: AnswerContext): boolean {
  if (io.openEditor === undefined || io.stdin.kind !== 'terminal' || !io.stdout.isTTY) return false;
  const { prompt, promptFile, template, messages, body, raw, jsonl, dryRun, curl, field, code } = flags;
  const given = [prompt, promptFile, template, messages, body, raw, jsonl, dryRun, curl, field, code, root.json];
  if (words.length > 0 || given.some((value) => value !== undefined)) return false;
  const readers = [
    flags.systemFile,
    flags.tools,
    flags.schema,
    flags.apiKeyFile,
    ...(flags.image ?? []),
    ...(flags.attach ?? []),
  ];
  return !readers.includes('-');
}
