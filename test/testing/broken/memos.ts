// Stores that are wrong about memos: for whom they are written, over what, how many, and what is read.
import type {
  Bid,
  Hold,
  KeepsMemos,
  StoredMemo,
  MemoWrite,
  MemoWritten,
  Session,
  Store,
  Version,
} from "conclave/stores/contract";
import { change, seatAt } from "./change.ts";
import { watchIsSilent } from "./seats.ts";

type Keeping = Store & KeepsMemos;

/** `changed`, which is made of `store`, with the memos of `store`, but for what is changed of them. */
function withMemos(store: Store, changes: Partial<KeepsMemos>, changed: Store = change(store, {})): Store {
  const keeping = store as Keeping;
  return Object.assign(changed, {
    writeMemo: changes.writeMemo ?? ((...args: Parameters<KeepsMemos["writeMemo"]>) => keeping.writeMemo(...args)),
    readMemos: changes.readMemos ?? ((...args: Parameters<KeepsMemos["readMemos"]>) => keeping.readMemos(...args)),
  });
}

/** Each write is another one than was asked for. */
function writing(store: Store, other: (write: MemoWrite, stands: StoredMemo | undefined) => MemoWrite): Store {
  return withMemos(store, {
    writeMemo: async (write, call) =>
      (store as Keeping).writeMemo(other(write, await standing(store, write, call)), call),
  });
}

async function memosAt(
  store: Store,
  name: string,
  key: string | undefined,
  call: Parameters<KeepsMemos["readMemos"]>[2],
): Promise<readonly StoredMemo[]> {
  const read = await (store as Keeping).readMemos(name, key, call);
  return read.kind === "memos" ? read.memos : [];
}

async function standing(
  store: Store,
  { hold, key }: MemoWrite,
  call: Parameters<KeepsMemos["readMemos"]>[2],
): Promise<StoredMemo | undefined> {
  return (await memosAt(store, hold.name, key, call))[0];
}

export function goneWithTheTerm(store: Store): Store {
  return withMemos(store, {
    readMemos: async (name, key, call) => {
      const bid = (await seatAt(store, name, call))?.holder?.bid;
      const memos = await memosAt(store, name, key, call);
      return { kind: "memos", memos: memos.filter(({ token }) => token.bid === bid) };
    },
  });
}

/** What was read once is read again. */
export function readFromACopy(store: Store): Store {
  const copies = new Map<string, readonly StoredMemo[]>();
  return withMemos(store, {
    readMemos: async (name, key, call) => {
      const of = JSON.stringify([name, key]);
      const memos = copies.get(of) ?? (await memosAt(store, name, key, call));
      if (memos.length > 0) copies.set(of, memos);
      return { kind: "memos", memos };
    },
  });
}

/** `as` is told who is in the seat, and makes of each write one that the store takes for theirs. */
function guardedBy(
  store: Store,
  as: (write: MemoWrite, seated: { readonly session: Session; readonly hold: Hold }) => MemoWrite,
): Store {
  const granted = new Map<Bid, { readonly session: Session; readonly hold: Hold }>();
  const changed = change(store, {
    claim: async (claims, call) => {
      const claimed = await store.claim(claims, call);
      claimed.forEach((answer, index) => {
        const session = claims[index]?.session;
        if (answer.kind === "granted" && session) granted.set(answer.hold.bid, { session, hold: answer.hold });
      });
      return claimed;
    },
  });
  const writeMemo: KeepsMemos["writeMemo"] = async (write, call) => {
    const bid = (await seatAt(store, write.hold.name, call))?.holder?.bid;
    const seated = bid && granted.get(bid);
    return (store as Keeping).writeMemo(seated ? as(write, seated) : write, call);
  };
  return withMemos(store, { writeMemo }, changed);
}

export function ofAnyToken(store: Store): Store {
  return guardedBy(store, (write, { hold }) =>
    write.hold.bid === hold.bid ? { ...write, hold: { ...write.hold, token: hold.token } } : write,
  );
}

export function ofAnyBid(store: Store): Store {
  return guardedBy(store, (write, { hold }) => ({ ...write, hold: { ...write.hold, bid: hold.bid } }));
}

export function ofAnySession(store: Store): Store {
  return guardedBy(store, (write, { session }) => ({ ...write, session }));
}

export function resentIsAConflict(store: Store): Store {
  return withMemos(store, {
    writeMemo: async (write, call) => {
      const memo = await standing(store, write, call);
      return memo?.version === write.over ? (store as Keeping).writeMemo(write, call) : { kind: "conflict", memo };
    },
  });
}

/** The token and n are compared, and the value is not. */
export function copyIsAResend(store: Store): Store {
  return withMemos(store, {
    writeMemo: async (write, call) => {
      const written = await (store as Keeping).writeMemo(write, call);
      const memo = written.kind === "conflict" ? written.memo : undefined;
      const isSame = memo?.token.value === write.hold.token?.value && memo?.n === write.n;
      return memo && isSame ? { kind: "written", version: memo.version } : written;
    },
  });
}

export function overAnything(store: Store): Store {
  return writing(store, (write, stands) => ({ ...write, over: stands?.version }));
}

export function keysFolded(store: Store): Store {
  return withMemos(store, {
    writeMemo: (write, call) => (store as Keeping).writeMemo({ ...write, key: write.key.toLowerCase() }, call),
    readMemos: (name, key, call) => (store as Keeping).readMemos(name, key?.toLowerCase(), call),
  });
}

/** As where all keys that begin with the name are read. */
export function readWithThoseBelow(store: Store): Store {
  const names = new Set<string>();
  return withMemos(store, {
    writeMemo: (write, call) => {
      names.add(write.hold.name);
      return (store as Keeping).writeMemo(write, call);
    },
    readMemos: async (name, key, call) => {
      const read = key === undefined ? [...names].filter((other) => other.startsWith(name)) : [name];
      const memos = await Promise.all(read.map((other) => memosAt(store, other, key, call)));
      return { kind: "memos", memos: memos.flat() };
    },
  });
}

export function cutToFit(store: Store): Store {
  const { bytes = 0 } = store.guarantee.memos ?? {};
  return writing(store, (write) => ({
    ...write,
    value: Buffer.from(write.value).subarray(0, bytes).toString(),
  }));
}

export function oneTooManyAcknowledged(store: Store): Store {
  const { bytes = 0 } = store.guarantee.memos ?? {};
  return withMemos(store, {
    writeMemo: async (write, call): Promise<MemoWritten> => {
      const written = await (store as Keeping).writeMemo(write, call);
      const isLarge = Buffer.byteLength(write.value) > bytes;
      return written.kind === "refused" && !isLarge ? { kind: "written", version: "none" as Version } : written;
    },
  });
}

/** The keys are counted, whether the write is of a new one or not. */
export function fullIsShut(store: Store): Store {
  const { keys = 0 } = store.guarantee.memos ?? {};
  return withMemos(store, {
    writeMemo: async (write, call) => {
      if ((await memosAt(store, write.hold.name, undefined, call)).length < keys)
        return (store as Keeping).writeMemo(write, call);
      return { kind: "refused", code: "STORE_FULL", message: "full", retryable: false };
    },
  });
}

/** A memo renews the session that writes it. */
export function signsOfLife(store: Store): Store {
  return withMemos(store, {
    writeMemo: async (write, call) => {
      await store.keep(write.session, [], call);
      return (store as Keeping).writeMemo(write, call);
    },
  });
}

export function unheard(store: Store): Store {
  return withMemos(store, {}, watchIsSilent(store));
}
