// A value as an error message shows it: whatever JavaScript users pass, showing it never throws and never floods.

export function show(value: unknown): string {
  const text =
    typeof value === "string" ? JSON.stringify(value) : typeof value === "bigint" ? `${value}n` : describe(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

function describe(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return typeof value;
  }
}
