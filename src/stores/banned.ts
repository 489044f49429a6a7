// The reason to stop a request in the middle: a session of a banned node has asked for something, or the node was banned since the session was opened (lease/ban-rule.ts). A driver throws it where it finds out,
// and catches it itself: the answer to the caller is `session-lost`.
export class Banned extends Error {}
