import { text, type Rule } from './rule.ts';
import { badValue } from './violation.ts';

/** `width:height`; ratios more extreme than 10:1 are refused. */
export const aspectRatio: Rule = (value, path, mode) => {
  const ratio = String(text(value, path, mode));
  const [, width, height] = /^(\d{1,4}):(\d{1,4})$/.exec(ratio) ?? [];
  const quotient = Number(width) / Number(height);
  if (quotient >= 0.1 && quotient <= 10) return ratio;
  throw badValue(path, `${JSON.stringify(ratio.slice(0, 40))} is no aspect ratio; write width:height, such as 16:9`);
};

/** A size that is not drawn is refused at every level, as a ratio is: a picture of another size would mislead. */
export const imageSize: Rule = (value, path, mode) => {
  const size = String(text(value, path, mode));
  if (drawnSizes.includes(size)) return size;
  throw badValue(path, `Input should be ${drawnSizes.map((each) => `'${each}'`).join(' or ')}`);
};
const drawnSizes = ['512', '1K', '2K', '4K'];
