// How the partitions of a group are cut into chunks, each of which is one memo. Pure: every member computes the same result from the same numbers,
// and the first controller writes it down.

/** How much one election may keep (`guarantee.memos`). */
export interface Room {
  readonly keys: number;
  readonly bytes: number;
}

export interface PartitionLayout {
  readonly count: number;
  /** Partition p lies in chunk ⌊p / chunkSize⌋. */
  readonly chunkSize: number;
}

/** Bytes that one partition may need in its chunk: its entry, and a session of its own whose member has an id of up to 24 bytes. */
const BYTES_PER_PARTITION = 72;
/** Keys of the controller's election that are not chunks: the index, and room for later. */
const OTHER_KEYS = 8;
/** Small chunks make small writes; many chunks make many writes. */
const CHUNKS_WISHED = 32;
const CHUNK_LEAST = 32;

/** How many partitions a group may have on a store with so much room. */
export function mostPartitions(room: Room): number {
  return mostChunks(room) * Math.floor(room.bytes / BYTES_PER_PARTITION);
}

/** For a count that fits (`mostPartitions`): then there are no more chunks than keys for them, and each chunk fits into its memo. */
export function layoutOf(count: number, room: Room): PartitionLayout {
  const most = Math.floor(room.bytes / BYTES_PER_PARTITION);
  const chunks = Math.min(CHUNKS_WISHED, mostChunks(room));
  return { count, chunkSize: Math.min(most, Math.max(CHUNK_LEAST, Math.ceil(count / chunks))) };
}

function mostChunks({ keys }: Room): number {
  return Math.max(0, keys - OTHER_KEYS);
}

export function chunksOf({ count, chunkSize }: PartitionLayout): number {
  return Math.ceil(count / chunkSize);
}

export function chunkOf({ chunkSize }: PartitionLayout, partition: number): number {
  return Math.floor(partition / chunkSize);
}

export function sizeOfChunk({ count, chunkSize }: PartitionLayout, chunk: number): number {
  return Math.min(chunkSize, count - chunk * chunkSize);
}
