package store

// Statements are all statements of this package by name, for the test that has PostgreSQL prepare each of them.
func Statements() map[string]string {
	return map[string]string{
		"alive": aliveSQL, "acquire": acquireSQL, "release": releaseSQL, "request": requestSQL, "requested": requestedSQL, "count": countSQL,
		"add": addSQL, "grant": grantSQL, "granted": grantedSQL, "waiting": waitingSQL, "after": afterSQL, "sample": sampleSQL,
		"adopt": adoptSQL, "cursor": cursorSQL, "begin": beginSQL, "move": moveSQL, "told": toldSQL, "header": headerSQL,
		"oldest": oldestSQL, "add headers": addHeadersSQL, "prune": pruneSQL, "cut": cutSQL, "orphan": orphanSQL, "owners": ownersSQL,
		"known": knownSQL, "due": dueSQL, "above": aboveSQL, "put deposit": putDepositSQL, "put transfer": putTransferSQL,
		"sim state": simStateSQL, "sim open": simOpenSQL, "sim lock": simLockSQL, "sim block": simBlockSQL, "sim include": simIncludeSQL,
		"sim grow": simGrowSQL, "sim prune": simPruneSQL, "sim header": simHeaderSQL, "sim transfers": simTransfersSQL,
		"patient wallet": patientWalletSQL, "insert wallet": insertWalletSQL, "history": historySQL, "find wallet": findWalletSQL,
		"list wallets": listWalletsSQL, "list wallets by status": listWalletsByStatusSQL, "list deposits": listDepositsSQL,
		"heads": headsSQL, "lock wallets": lockWalletsSQL, "of wallets": ofWalletsSQL, "update wallet": updateWalletSQL, "over": overSQL,
		"open recovery": openRecoverySQL, "targets": targetsSQL, "recovery cursors": recoveryCursorsSQL, "end recovery": endRecoverySQL,
		"version base": versionBaseSQL, "target": targetSQL, "jump patient": jumpPatientSQL, "jump": jumpSQL,
		"pending rescans": pendingRescansSQL, "rescan done": rescanDoneSQL, "height at": heightAtSQL, "lock cursor": lockCursorSQL,
		"again": againSQL, "deposits of tx": depositsOfTxSQL, "owners of tx": ownersOfTxSQL, "kept keys": keptKeysSQL, "count assets": countAssetsSQL,
		"keep key": keepKeySQL, "reseal key": resealKeySQL, "batch keys": batchKeysSQL, "place": placeSQL, "stock": stockSQL,
		"add pooled": addPooledSQL, "batch": batchSQL, "add batch": addBatchSQL, "add stock": addStockSQL, "passed": passedSQL,
		"left": leftSQL, "strange": strangeSQL, "stock at": stockAtSQL, "final": finalSQL, "keep station": keepStationSQL, "due sweeps": dueSweepsSQL,
		"to sweep": toSweepSQL, "open sweep": openSweepSQL, "mark swept": markSweptSQL, "idle": idleSQL, "wait sweep": waitSweepSQL,
		"block sweep": blockSweepSQL, "end sweep": endSweepSQL, "held": heldSQL, "next nonce": nextNonceSQL, "plan": planSQL,
		"attempt": attemptSQL, "drop": dropSQL, "underway": underwaySQL, "attempts": attemptsSQL, "step": stepSQL, "landed": landedSQL,
		"signed": signedSQL, "withdraw": withdrawSQL, "another while": anotherWhileSQL, "sent": sentSQL, "unsent": unsentSQL,
		"funding": fundingSQL, "swept of wallet": sweptOfWalletSQL, "release sweep": releaseSweepSQL, "busy sweep": blockedSweepSQL,
		"sweep counts": sweepCountsSQL, "stations": stationsSQL, "unfinished": unfinishedSQL, "final again": finalAgainSQL, "booked": bookedSQL, "journal": journalSQL,
		"entry": entrySQL, "balances": balancesSQL, "reassign": reassignSQL, "sim deposit": simDepositSQL, "sim cut": simCutSQL,
		"sim orphan": simOrphanSQL, "owner": ownerSQL, "note traces": noteTracesSQL, "rotate traces": rotateTracesSQL,
		"waits": waitsSQL, "own cursor": ownCursorSQL, "mined": minedSQL, "present": presentSQL, "absent": absentSQL, "missed": missedSQL,
		"left mempool": leftMempoolSQL, "wait": waitSQL, "untold": untoldSQL, "tell page": tellPageSQL, "told to": toldToSQL,
		"tell accounts": tellAccountsSQL, "keep accounts": keepAccountsSQL, "tell all": tellAllSQL, "tell all accounts": tellAllAccountsSQL,
		"scans": scansSQL, "recovery": recoverySQL,
	}
}
