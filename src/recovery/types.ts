import type { StoredBlob } from '../images/types.ts';

/** A picture of a reply that could not be written where it was wanted. */
export interface KeptImage {
  declaredType: string | undefined;
  candidate: number;
  blob: StoredBlob;
}

/** A paid reply that could not be written, as it goes into a recovery file and comes out of it. */
export interface KeptReply {
  /** ISO time. */
  savedAt: string;
  /** `image gen` */
  command: string;
  /** Whether the text was to be printed and was not. */
  printsText: boolean;
  /** What the JSON document of the run said of the reply. */
  document: unknown;
  images: KeptImage[];
  /** The body as it came, of `--raw`. */
  body?: Pick<StoredBlob, 'content'> | undefined;
}

/** Names the shape of a recovery file. */
export const recoverySchema = 'gateway-cli/recovery@1';
