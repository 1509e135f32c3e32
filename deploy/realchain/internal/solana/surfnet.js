// Runs a Surfpool network until standard input ends. Arguments: the native module. Prints one JSON line when it answers.
const { Surfnet } = require(process.argv[2]);
const net = Surfnet.startWithConfig({ blockProductionMode: 'transaction', offline: true });
setInterval(() => net.drainEvents(), 20); // its RPC stalls while nobody takes its events
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
console.log(JSON.stringify({ rpcUrl: net.rpcUrl, payer: Buffer.from(net.payerSecretKey).toString('hex') }));
