import { askForOutcome, saveFiles } from '../../run/ask.ts';
import type { Command } from 'commander';
import { prepareCommand, prepareRequest } from '../../run/prepare.ts';
import { planBesideText, startSending } from '../../run/sending.ts';
import { answerCommand, finishText, tryFindSchemaAnswer } from '../../run/answer.ts';
import { addAskFlags } from '../../flags/shared.ts';
import type { AskFlags } from '../../run/settings.ts';
import { printStream, printText } from '../../output/print.ts';
import { checkEnd, type Performed, type StreamDelta, usageError } from '../../../library/index.ts';
import type { Action, AnswerContext, CommandEnd } from '../../context.ts';
import { addFlags, setExamples } from '../../flags/flag.ts';
import { fieldFlags } from '../../flags/fields.ts';
import { answerFileFlags, textFlags } from '../../flags/format.ts';
import type { Progress } from '../../terminal/progress.ts';
import { printFootnotes } from '../../output/footnotes.ts';
import { keepOutcome } from '../../output/outcome.ts';

type TextFlags = AskFlags<typeof textFlags & typeof answerFileFlags>;

/** `text [prompt…]`: text in, text out. */
export function textCommand(command: Command): Action {
  command.argument('[prompt...]', 'the prompt, joined by spaces').usage('[prompt…] [flags]');
  setExamples(command, [
    'gateway-cli text "three names for a lighthouse cat"',
    'gateway-cli text "summarise" < report.txt',
    'gateway-cli text --stream "a long story"',
    'gateway-cli text --schema person.schema.json "Ada Lovelace" --field answer',
    'while read -r word; do gateway-cli text --no-stdin "define $word"; done < words.txt',
  ]);
  addFlags(command, 'Flags', {
    ...fieldFlags('input', 'text'),
    ...textFlags,
    ...answerFileFlags,
    ...fieldFlags('content', 'text'),
  });
  addAskFlags(command, 'text');
  return async (context, words, flags) => {
    const typed = flags as TextFlags;
    if (typed.jsonl && !typed.stream) throw usageError('--jsonl prints the events of a stream', 'add --stream');
    return answerCommand(typed, { use: 'text', context }, (answerContext) => runText(words, typed, answerContext));
  };
}

async function runText(words: readonly string[], typed: TextFlags, context: AnswerContext): Promise<CommandEnd | void> {
  const prepared = await prepareCommand(words, typed, 'text', { context });
  const { flags, settings, deadline } = prepared;
  const request = await prepareRequest(words, flags, prepared);
  const plan = await planBesideText(flags, request, context);
  const sending = await startSending(request, plan, prepared);
  if ('ended' in sending) return sending.ended;

  const progress = context.ui.progress('waiting for the gateway');
  context.atEnd(async () => progress.stop());
  const { stream, maxTurns } = flags;
  const { check } = request;
  const isMarkdown = settings.markdown && check === undefined && !isData(flags.responseMime);
  const printing = { flags, isMarkdown, waitsForCheck: check !== undefined, progress, context };
  const outcome = await askForOutcome(request, {
    ...sending,
    pricing: settings,
    deadline: deadline(),
    maxTurns,
    ...(stream && { read: (deltas) => printFirstCandidate(deltas, printing) }),
  });
  return keepOutcome(outcome, async () => {
    const { reply } = outcome;
    if (reply === undefined) return { outcome };
    const schemaAnswer = check && (await tryFindSchemaAnswer(check, { result: reply, error: outcome.error }, prepared));
    progress.stop();
    if (!stream || (schemaAnswer && !flags.jsonl))
      await printText(reply, { isMarkdown, json: schemaAnswer?.json, context });
    if (reply.sources && !flags.jsonl && !check && !isData(flags.responseMime))
      await printFootnotes(reply, flags, context);
    const saved = await saveFiles(outcome, sending.images, () => checkEnd(deadline()));
    return finishText({ ...saved, reply }, { plan, schemaAnswer }, prepared);
  });
}

/** JSON and the like is printed as it is. */
function isData(mimeType: string | undefined): boolean {
  return mimeType !== undefined && !mimeType.startsWith('text/');
}

interface Printing {
  flags: TextFlags;
  isMarkdown: boolean;
  waitsForCheck: boolean;
  progress: Progress;
  context: AnswerContext;
}

/** Prints the first candidate while it comes. */
async function printFirstCandidate(
  deltas: AsyncGenerator<StreamDelta[], Performed>,
  { flags, context, ...shown }: Printing,
): Promise<Performed> {
  const answer = await printStream(deltas, { ...flags, ...shown }, context);
  const { candidates, warnings } = answer.result;
  if (candidates.length < 2) return answer;
  const note = `${candidates.length} candidates came, and --stream prints the first`;
  return { ...answer, result: { ...answer.result, warnings: [...warnings, note] } };
}
