// @ts-check
// A network of its own for servers and candidates that tests cut apart: one namespace a host, all on one bridge. Cutting drops packets and tells nobody, as a
// firewall or a dead switch does. Needs root, iproute2 and iptables.
import { doUntil, runCommand } from "./process.mjs";

/**
 * @typedef {object} Host
 * @property {string} address
 * @property {readonly string[]} prefix what a command is run through to run on this host
 * @property {(...others: Host[]) => void} cut drops everything between this host and the others; and with nobody named, all but its own loopback
 * @property {() => void} heal
 *
 * @typedef {object} Network
 * @property {Host[]} hosts
 * @property {() => void} stop
 */

let networks = 0;

/** @param {number} count @returns {Network} the machine itself has the address that ends in .254 */
export function openNetwork(count) {
  const name = `cv${process.pid % 100_000}x${networks++}`;
  const subnet = `10.${64 + Math.floor(Math.random() * 64)}.${Math.floor(Math.random() * 256)}`;
  /** @type {(() => void)[]} */
  const undo = [];
  const make = (/** @type {readonly string[]} */ doing, /** @type {readonly string[]} */ undoing) =>
    undo.push(doUntil(doing, undoing));
  try {
    make(["ip", "link", "add", name, "type", "bridge"], ["ip", "link", "del", name]);
    runCommand(["ip", "addr", "add", `${subnet}.254/24`, "dev", name]);
    runCommand(["ip", "link", "set", name, "up"]);
    const hosts = Array.from({ length: count }, (_, index) =>
      addHost(`${name}h${index}`, name, `${subnet}.${index + 1}`, make),
    );
    return { hosts, stop };
  } catch (error) {
    stop();
    throw error;
  }

  function stop() {
    for (const each of undo.splice(0).toReversed()) each();
  }
}

/** @param {string} name @param {string} bridge @param {string} address @param {(doing: readonly string[], undoing: readonly string[]) => void} make @returns {Host} */
function addHost(name, bridge, address, make) {
  make(["ip", "netns", "add", name], ["ip", "netns", "del", name]);
  const prefix = ["ip", "netns", "exec", name];
  make(["ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name], ["ip", "link", "del", name]);
  runCommand(["ip", "link", "set", name, "master", bridge, "up"]);
  runCommand([...prefix, "ip", "addr", "add", `${address}/24`, "dev", "eth0"]);
  runCommand([...prefix, "ip", "link", "set", "eth0", "up"]);
  runCommand([...prefix, "ip", "link", "set", "lo", "up"]);
  const rule = (/** @type {readonly string[]} */ what) => runCommand([...prefix, "iptables", "-w", ...what]);
  return {
    address,
    prefix,
    cut: (...others) => {
      if (others.length === 0) {
        rule(["-A", "INPUT", "!", "-i", "lo", "-j", "DROP"]);
        rule(["-A", "OUTPUT", "!", "-o", "lo", "-j", "DROP"]);
      }
      for (const other of others) {
        rule(["-A", "INPUT", "-s", other.address, "-j", "DROP"]);
        rule(["-A", "OUTPUT", "-d", other.address, "-j", "DROP"]);
      }
    },
    heal: () => rule(["-F"]),
  };
}
