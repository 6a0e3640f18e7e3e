/** How the rows of a PNG lie in its unpacked data: eight bits a sample, none of them interlaced. */
export interface Rows {
  width: number;
  height: number;
  channels: number;
}

/**
 * Undoes the filters of all rows, in place; the samples of row `y` then begin at `y * (width * channels + 1) + 1`. Throws where
 * the data is short, or names a filter that there is not.
 */
export function unfilter(data: Uint8Array, { width, height, channels }: Rows): void {
  const length = width * channels;
  if (data.length < height * (length + 1)) throw new Error('the picture is cut short');
  for (let y = 0; y < height; y++) {
    const start = y * (length + 1) + 1;
    const filter = data[start - 1];
    const row = data.subarray(start, start + length);
    const above = y === 0 ? new Uint8Array(length) : data.subarray(start - length - 1, start - 1);
    if (filter === 1) addLeft(row, channels);
    else if (filter === 2) addAbove(row, above);
    else if (filter === 3) addMean(row, above, channels);
    else if (filter === 4) addPaeth(row, above, channels);
    else if (filter !== 0) throw new Error('the picture has a filter that there is not');
  }
}

function addLeft(row: Uint8Array, step: number): void {
  for (let i = step; i < row.length; i++) row[i] = (row[i] as number) + (row[i - step] as number);
}

function addAbove(row: Uint8Array, above: Uint8Array): void {
  for (let i = 0; i < row.length; i++) row[i] = (row[i] as number) + (above[i] as number);
}

function addMean(row: Uint8Array, above: Uint8Array, step: number): void {
  for (let i = 0; i < row.length; i++) {
    const left = i < step ? 0 : (row[i - step] as number);
    row[i] = (row[i] as number) + ((left + (above[i] as number)) >> 1);
  }
}

function addPaeth(row: Uint8Array, above: Uint8Array, step: number): void {
  for (let i = 0; i < step; i++) row[i] = (row[i] as number) + (above[i] as number);
  for (let i = step; i < row.length; i++) {
    const left = row[i - step] as number;
    const up = above[i] as number;
    const corner = above[i - step] as number;
    const toLeft = Math.abs(up - corner);
    const toUp = Math.abs(left - corner);
    const toCorner = Math.abs(left + up - 2 * corner);
    const nearest = toLeft <= toUp && toLeft <= toCorner ? left : toUp <= toCorner ? up : corner;
    row[i] = (row[i] as number) + nearest;
  }
}
