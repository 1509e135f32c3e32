// The shop's orders, in a file. A real shop keeps them in its database; the rules are the same: an order is written
// before the payment is asked for, and every change is on disk before anybody is told of it.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

export class Orders {
  #file;
  #orders = new Map();

  constructor(file) {
    this.#file = file;
    try {
      for (const order of JSON.parse(readFileSync(file, 'utf8'))) this.#orders.set(order.id, order);
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
  }

  get(id) {
    return this.#orders.get(id);
  }

  all() {
    return [...this.#orders.values()];
  }

  put(order) {
    this.#orders.set(order.id, order);
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.all(), null, 2));
    renameSync(`${this.#file}.new`, this.#file); // in one step: a crash leaves the old file or the new one
    return order;
  }
}
