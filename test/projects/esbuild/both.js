// A program that reaches the package by import and, through required.cjs, by require.
import assert from "node:assert/strict";
import { elect } from "conclave";
import required from "./required.cjs";

assert.equal(required.elect, elect);
