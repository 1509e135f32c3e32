<?php

// Generated from gateway/openapi.yaml by make docs. Do not edit.

declare(strict_types=1);

namespace Causeway;

/**
 * The types of the API: import one with `@phpstan-import-type Payment from Types`.
 *
 * @phpstan-type AddressBookAnswer array{addresses: list<AddressBookEntry>, pagination: Pagination, success: true}
 * @phpstan-type AddressBookEntry array{address: string, createdAt: string, id: string, label: string, network: string, usableAt: string}
 * @phpstan-type AddressBookEntryAnswer array{address: AddressBookEntry, success: true}
 * @phpstan-type AddressBookEvent array{createdAt: string, data: array{address: array{address: string, createdAt: string, id: string, label: string, network: string, sequence: int, usableAt: string}}, id: string, mode: Mode, type: 'wallet.address_added'}
 * @phpstan-type AddressRemovedAnswer array{success: true}
 * @phpstan-type BalancesAnswer array{balances: list<array{available: string, crypto: string, network: string, pending: string, missing?: string}>, success: true, fiat?: list<array{available: Decimal, currency: FiatCurrency, pending: Decimal}>}
 * @phpstan-type BankListAnswer array{banks: list<array{code: string, currency: FiatCurrency, name: string}>, success: true}
 * @phpstan-type ChangeSettlementSettings array{daily?: list<ChooseDailySettlement>|null, merchantPayments?: 'self'|'balance'|null}
 * @phpstan-type Charge array{crypto: Decimal, fiat: Decimal, usd: Decimal}
 * @phpstan-type CheckoutAnswer array{payment: array{confirmations: int, exception: PaymentException, expiresAt: string, fiatAmount: Decimal, fiatCurrency: FiatCurrency, mode: Mode, receivedAmount: Decimal, reference: string, settledAt: string|null, status: PaymentStatus, takesRefundAddress: bool, takesTransactionHash: bool, txHash: string, type: PaymentType, charge?: Charge, claimed?: bool, crypto?: string, cryptoAmount?: Decimal, depositAddress?: string, description?: string, ignoredAmount?: Decimal, locale?: string, merchantReference?: string, network?: string, options?: list<array{crypto: string, cryptoAmount: Decimal, network: string, rate: Decimal}>, paymentUri?: string, payoutAmount?: Decimal, preferred?: PaymentPreferred, rate?: Decimal, refundAddress?: string, refundAddressHeldUntil?: string, refundAddressProposed?: string, refunds?: list<Refund>, remainingAmount?: Decimal, requiredConfirmations?: int, returnUrl?: string, transactionUsd?: Decimal}, success: true}
 * @phpstan-type ChooseDailySettlement array{currency: FiatCurrency, minimum: Decimal|int, settlementAccountId: string}
 * @phpstan-type ClaimGift array{receiver: array{accountNumber: string, bankCode: string}}
 * @phpstan-type ComplaintType 'track_transaction'|'stolen_funds'|'fraud'
 * @phpstan-type ConfirmSettlementAccount array{accountNumber: string}
 * @phpstan-type CreatePayment array{fiatCurrency: FiatCurrency, type: PaymentType, bankRef?: string|null, callbackUrl?: string|null, chargeFrom?: 'fiat'|'crypto'|''|null, crypto?: string|null, cryptoAmount?: Decimal|int|null, description?: string|null, fiatAmount?: Decimal|int|null, locale?: string|null, merchantReference?: string|null, metadata?: array<string, mixed>|null, network?: string|null, payer?: array{chatId: string, phone?: string|null}|null, receiver?: array{accountNumber: string, bankCode: string}|null, returnUrl?: string|null}
 * @phpstan-type CreateRefund array{reason: string, amount?: Decimal|int|null, crypto?: string|null, network?: string|null}
 * @phpstan-type CreateReport array{complaintType: ComplaintType, name: string, description?: string|null, fraudsterWalletAddress?: string|null, phoneNumber?: string|null, sessionReference?: string|null, walletAddress?: string|null}
 * @phpstan-type CreateSettlementAccount array{currency: FiatCurrency, receiver: array{accountNumber: string, bankCode: string}}
 * @phpstan-type CreateWallet array{crypto: string, network: string, expiresInMinutes?: Decimal|int|null, metadata?: array<string, mixed>|null}
 * @phpstan-type CreateWithdrawal array{amount: Decimal|int, currency: FiatCurrency, settlementAccountId: string}
 * @phpstan-type DailySettlement array{currency: FiatCurrency, minimum: Decimal, settlementAccountId: string}
 * @phpstan-type EndpointEvent array{createdAt: string, data: array{endpoint: array{disabledReason: 'merchant'|'gone'|'failing'|null, enabled: bool, failingSince: string|null, id: string, sequence: int, url: string}}, id: string, mode: Mode, type: 'webhook.endpoint_failing'|'webhook.endpoint_disabled'|'webhook.test'}
 * @phpstan-type EventListAnswer array{events: list<PaymentEvent|WalletEvent|WithdrawalEvent|WalletWithdrawalEvent|SettlementAccountEvent|AddressBookEvent|ReportEvent|EndpointEvent>, pagination: Pagination, success: true}
 * @phpstan-type EventTypeName 'payment.created'|'payment.pending'|'payment.confirming'|'payment.confirmed'|'payment.settling'|'payment.settled'|'payment.expired'|'payment.cancelled'|'payment.needs_review'|'payment.refunded'|'payment.underpaid'|'payment.overpaid'|'payment.reorged'|'payment.wrong_asset'|'payment.refund_address_changed'|'payment.refund_address_proposed'|'payment.refund_requested'|'payment.refund_approved'|'payment.refund_signing'|'payment.refund_sent'|'payment.refund_confirmed'|'payment.refund_failed'|'withdrawal.requested'|'withdrawal.approved'|'withdrawal.sending'|'withdrawal.paid'|'withdrawal.failed'|'withdrawal.returned'|'settlement_account.added'|'settlement_account.confirmed'|'settlement_account.deleted'|'wallet.watching'|'wallet.deposit_detected'|'wallet.confirmed'|'wallet.swept'|'wallet.expired'|'wallet.address_added'|'wallet.withdrawal_requested'|'wallet.withdrawal_approved'|'wallet.withdrawal_signing'|'wallet.withdrawal_sent'|'wallet.withdrawal_confirmed'|'wallet.withdrawal_failed'|'report.created'|'report.updated'|'webhook.endpoint_failing'|'webhook.endpoint_disabled'|'webhook.test'
 * @phpstan-type FiatCurrency 'NGN'|'GHS'|'KES'|'ZAR'
 * @phpstan-type FulfillRequest array{crypto: string, network: string, payer: array{chatId: string, phone?: string|null}}
 * @phpstan-type GiftClaimedAnswer array{message: 'Gift claimed successfully. Payout is being processed.', payment: array{receiver: array{accountName: string, accountNumber: string, bankName: string}, reference: string, status: 'settling'}, success: true}
 * @phpstan-type LinkAnswer array{link: PublicLink, success: true}
 * @phpstan-type LinkPayment array{crypto?: string|null, fiatAmount?: Decimal|int|null, network?: string|null}
 * @phpstan-type MeAnswer array{key: array{allowedCidrs: list<string>, createdAt: string, expiresAt: string|null, id: int, mode: Mode, name: string, publicKey: string}, limits: array{burst: int|null, perSecond: int|null, tier: Tier}, merchant: array{id: string}, permissions: list<string>, success: true}
 * @phpstan-type Metadata array<string, mixed>
 * @phpstan-type Mode 'live'|'test'
 * @phpstan-type NameTransaction array{txHash: string}
 * @phpstan-type NamedTransactionAnswer array{message: string, success: true}
 * @phpstan-type NetworkListAnswer array{limits: list<array{fiatCurrency: FiatCurrency, maximum: Decimal, minimum: Decimal}>, networks: list<array{aliases: list<string>, confirmations: int|null, cryptos: list<array{crypto: string, decimals: int, minimum: Decimal|null, minimums: array{live: Decimal|null, test: Decimal|null}, seesContractTransfers: bool}>, family: 'bitcoin'|'evm'|'tron'|'solana', finality: bool, modes: array{live: NetworkOpen, test: NetworkOpen}, network: string}>, pauses: list<array{fiatCurrency: string|null, network: string|null, paused: PausedPart, rail: string|null, since: string}>, success: true}
 * @phpstan-type NetworkOpen array{open: bool, reason: 'mode_disabled'|'no_addresses'|'paused'|'not_followed'|'silent'|'unreachable'|'stalled'|'behind'|'halted'|'mismatched'|'cannot_be_judged'|null}
 * @phpstan-type NewAddressBookEntry array{address: string, network: string, label?: string|null}
 * @phpstan-type NewWalletWithdrawal array{addressId: string, amount: Decimal|int|string, crypto: string, network: string, fee?: Decimal|int|string|null}
 * @phpstan-type Pagination array{hasMore: bool, limit: int, nextCursor: string|null}
 * @phpstan-type PausedPart 'quotes'|'payouts'|'refunds'
 * @phpstan-type Payment PaymentFields
 * @phpstan-type PaymentAnswer array{payment: Payment, success: true}
 * @phpstan-type PaymentCommon array{confirmations: int, confirmedAt: string|null, createdAt: string, exception: PaymentException, expiresAt: string, fiatAmount: Decimal, metadata: Metadata, receivedAmount: Decimal, settledAt: string|null, status: PaymentStatus, transfers: list<PaymentTransfer>, txHash: string, bankRef?: string, charge?: Charge, checkoutUrl?: string, crypto?: string, cryptoAmount?: Decimal, depositAddress?: string, description?: string, feeScheduleId?: string, ignoredAmount?: Decimal, locale?: string, merchantReference?: string, network?: string, paymentUri?: string, payoutAmount?: Decimal, preferred?: PaymentPreferred, rate?: Decimal, receiver?: PaymentReceiver, refundAddress?: string, refundAddressHeldUntil?: string, refundAddressProposed?: string, refunds?: list<Refund>, returnUrl?: string, settlementReference?: string, transactionUsd?: Decimal}
 * @phpstan-type PaymentCreatedAnswer array{payment: PaymentPriced|PaymentRequested, success: true}
 * @phpstan-type PaymentEvent array{createdAt: string, data: array{payment: PaymentInEvent}, id: string, mode: Mode, type: 'payment.created'|'payment.pending'|'payment.confirming'|'payment.confirmed'|'payment.settling'|'payment.settled'|'payment.expired'|'payment.cancelled'|'payment.needs_review'|'payment.refunded'|'payment.underpaid'|'payment.overpaid'|'payment.reorged'|'payment.wrong_asset'|'payment.refund_address_changed'|'payment.refund_address_proposed'|'payment.refund_requested'|'payment.refund_approved'|'payment.refund_signing'|'payment.refund_sent'|'payment.refund_confirmed'|'payment.refund_failed'}
 * @phpstan-type PaymentException 'underpaid'|'overpaid'|'paid_late'|'wrong_asset'|'reorged'|'over_limit'|'unverified'|'screening_hold'|'unfunded'|'unclaimed'|'payout_failed'|'payout_returned'|null
 * @phpstan-type PaymentFields PaymentCommon&array{fiatCurrency: FiatCurrency, reference: string, type: PaymentType, payout?: PaymentPayout}
 * @phpstan-type PaymentFulfilledAnswer array{message: 'Request fulfilled successfully', payment: array{charge: Charge, crypto: string, cryptoAmount: Decimal, depositAddress: string, expiresAt: string, fiatAmount: Decimal, fiatCurrency: FiatCurrency, network: string, rate: Decimal, reference: string, status: 'pending', transactionUsd: Decimal}, success: true}
 * @phpstan-type PaymentInEvent PaymentFields&array{sequence: int, settlementToken?: string}
 * @phpstan-type PaymentLink array{createdAt: string, description: string, endedAt: string|null, expiresAt: string|null, fiatAmount: Decimal|null, fiatCurrency: FiatCurrency, id: string, maximumAmount: Decimal|null, minimumAmount: Decimal|null, settlementAccountId: string|null, status: 'active'|'ended'|'expired'|'used_up', title: string, type: 'request'|'merchant', usageLimit: int|null, uses: int, url?: string}
 * @phpstan-type PaymentLinkAnswer array{paymentLink: PaymentLink, success: true}
 * @phpstan-type PaymentLinkChange array{description?: string|null, expiresAt?: string|null, status?: 'active'|'ended'|null, title?: string|null, usageLimit?: int|null}
 * @phpstan-type PaymentLinkCreate array{fiatCurrency: FiatCurrency, title: string, type: 'request'|'merchant', description?: string|null, expiresAt?: string|null, fiatAmount?: Decimal|int|null, maximumAmount?: Decimal|int|null, minimumAmount?: Decimal|int|null, settlementAccountId?: string|null, usageLimit?: int|null}
 * @phpstan-type PaymentLinkListAnswer array{pagination: Pagination, paymentLinks: list<PaymentLink>, success: true}
 * @phpstan-type PaymentListAnswer array{pagination: Pagination, payments: list<Payment>, success: true}
 * @phpstan-type PaymentPayout array{amount: Decimal, currency: FiatCurrency, id: string, reference: string, status: string}
 * @phpstan-type PaymentPreferred array{crypto?: string, network?: string}
 * @phpstan-type PaymentPriced array{charge: Charge, crypto: string, cryptoAmount: Decimal, depositAddress: string, expiresAt: string, fiatAmount: Decimal, fiatCurrency: FiatCurrency, network: string, rate: Decimal, reference: string, status: 'pending', transactionUsd: Decimal, type: 'transfer'|'gift'|'merchant'|'bank_confirmation'}
 * @phpstan-type PaymentReceiver array{accountName: string, accountNumber: string, bankName: string, nameVerified?: bool}
 * @phpstan-type PaymentRequested array{fiatAmount: Decimal, fiatCurrency: FiatCurrency, id: string, reference: string, status: 'created', type: 'request'}
 * @phpstan-type PaymentStatus 'created'|'pending'|'confirming'|'confirmed'|'settling'|'settled'|'expired'|'cancelled'|'needs_review'|'refunded'
 * @phpstan-type PaymentTransfer array{amount: Decimal, confirmations: int, firstSeenAt: string, txHash: string}
 * @phpstan-type PaymentType 'transfer'|'gift'|'request'|'merchant'|'bank_confirmation'
 * @phpstan-type ProposedRefundAddressAnswer array{refund: array{refundAddress?: string, refundAddressHeldUntil?: string, refundAddressProposed?: string}, success: true}
 * @phpstan-type PublicLink array{description: string, fiatAmount: Decimal|null, fiatCurrency: FiatCurrency, id: string, maximumAmount: Decimal|null, minimumAmount: Decimal|null, mode: Mode, options: list<array{crypto: string, cryptoAmount: Decimal|null, network: string}>, status: 'active'|'ended'|'expired'|'used_up', title: string, type: 'request'|'merchant'}
 * @phpstan-type RateListAnswer array{rates: list<array{ageSeconds: int, asOf: string, crypto: string, degraded: bool, fiat: FiatCurrency, fiatPerUsd: Decimal, rate: Decimal, simulated: bool, sourceNames: list<string>, sources: int, spreadBps: int}>, success: true}
 * @phpstan-type ReceiverVerifiedAnswer array{receiver: array{accountName: string, accountNumber: string, bankCode: string, bankName: string, checkDigit: 'match'|'mismatch'|'unknown', fiatCurrency: FiatCurrency, nameVerified: bool}, success: true}
 * @phpstan-type Refund array{address: string, amount: Decimal, confirmedAt: string|null, createdAt: string, crypto: string, id: string, network: string, status: RefundStatus, txHash: string|null, failure?: string}
 * @phpstan-type RefundAddress array{address: string}
 * @phpstan-type RefundAddressAnswer array{refund: array{address: string, network: string, reference: string, heldUntil?: string}, success: true}
 * @phpstan-type RefundAnswer array{refund: Refund, success: true}
 * @phpstan-type RefundStatus 'requested'|'approved'|'signing'|'sent'|'confirmed'|'failed'
 * @phpstan-type RefundsAnswer array{refunds: list<Refund>, success: true}
 * @phpstan-type Report ReportFields&array{adminNotes: null, confirmer: null}
 * @phpstan-type ReportAnswer array{data: array{report: Report}, success: true}
 * @phpstan-type ReportEvent array{createdAt: string, data: array{report: ReportInEvent}, id: string, mode: Mode, type: 'report.created'|'report.updated'}
 * @phpstan-type ReportFields array{apiKeyId: int, complaintType: ComplaintType, createdAt: string, description: string|null, fraudsterWalletAddress: string|null, id: int, merchantId: string, name: string, phoneNumber: string|null, reportId: string, sessionReference: string|null, status: ReportStatus, updatedAt: string, walletAddress: string|null}
 * @phpstan-type ReportInEvent ReportFields&array{adminNotes: null, confirmer: null, sequence: int}
 * @phpstan-type ReportListAnswer array{data: array{limit: int, offset: int, reports: list<Report>, total: int, hasMore?: bool, nextCursor?: string|null}, success: true}
 * @phpstan-type ReportManaged ReportFields&array{adminNotes: string|null, confirmer: string|null}
 * @phpstan-type ReportManagedAnswer array{data: array{report: ReportManaged}, success: true}
 * @phpstan-type ReportOwnListAnswer array{data: array{pagination: Pagination, reports: list<ReportManaged>}, success: true}
 * @phpstan-type ReportStatus 'pending'|'processing'|'resolved'|'dismissed'
 * @phpstan-type SandboxDeposit array{amount?: Decimal|int|string|null, confirmations?: int|null, crypto?: string|null, outcome?: 'reorg'|'reorg_dropped'|'screening_hold'|'over_limit'|null}
 * @phpstan-type SandboxDepositAnswer array{deposit: array{amount: Decimal, confirmations: int, crypto: string, depositAddress: string, network: string}, success: true}
 * @phpstan-type SandboxOutage array{what: 'rates'|'network', network?: string|null, seconds?: int|null}
 * @phpstan-type SandboxOutageAnswer array{outage: array{network: string|null, until: string, what: 'rates'|'network'}, success: true}
 * @phpstan-type SandboxOutcome array{outcome: 'succeed'|'fail'|'return'|'timeout'}
 * @phpstan-type SandboxOutcomeAnswer array{payout: array{outcome: 'succeed'|'fail'|'return'|'timeout', reference: string, id?: string}, success: true}
 * @phpstan-type SandboxSimulateDeposit array{amount?: Decimal|int|string|null, steps?: int|null}
 * @phpstan-type SandboxWalletDeposit array{amount: Decimal|int|string, confirmations?: int|null, outcome?: 'reorg'|'reorg_dropped'|null}
 * @phpstan-type SandboxWalletDepositAnswer array{deposit: array{amount: string, confirmations: int, crypto: string, depositAddress: string, network: string, txHash: string}, success: true}
 * @phpstan-type Settle array{settlementToken: string, settlementReference?: string|null}
 * @phpstan-type SettledWithin array{day: int, fiveMinutes: int, hour: int, minute: int}
 * @phpstan-type SettlementAccount array{confirmedAt: string|null, createdAt: string, currency: FiatCurrency, heldUntil: string|null, id: string, receiver: SettlementReceiver, status: 'unconfirmed'|'active'}
 * @phpstan-type SettlementAccountAnswer array{settlementAccount: SettlementAccount, success: true}
 * @phpstan-type SettlementAccountDeletedAnswer array{deleted: 'true', id: string, success: true}
 * @phpstan-type SettlementAccountEvent array{createdAt: string, data: array{settlementAccount: array{confirmedAt: string|null, createdAt: string, currency: FiatCurrency, heldUntil: string|null, id: string, receiver: SettlementReceiver, sequence: int, status: 'unconfirmed'|'active'|'deleted'}}, id: string, mode: Mode, type: 'settlement_account.added'|'settlement_account.confirmed'|'settlement_account.deleted'}
 * @phpstan-type SettlementAccountsAnswer array{settlementAccounts: list<SettlementAccount>, success: true}
 * @phpstan-type SettlementReceiver array{accountName: string, accountNumber: string, bankName: string, nameVerified: bool}
 * @phpstan-type SettlementSettings array{daily: list<DailySettlement>, merchantPayments: 'self'|'balance'}
 * @phpstan-type SettlementSettingsAnswer array{settings: SettlementSettings, success: true}
 * @phpstan-type SettlementTokenAnswer array{expiresAt: string, success: true, settlementToken?: string}
 * @phpstan-type SettlementsAnswer array{from: string, settlements: list<array{convertedAmount: Decimal, createdAt: string, crypto: string, fee: Decimal, fiatAmount: Decimal, fiatCurrency: FiatCurrency, network: string, payoutAmount: Decimal, payoutReference: string, rate: Decimal, receivedAmount: Decimal, reference: string, settledAt: string, settledBy: 'causeway'|'caller', type: PaymentType, bankRef?: string, merchantReference?: string, settlementReference?: string}>, success: true, to: string, totals: array{count: int, crypto: list<array{convertedAmount: Decimal, count: int, crypto: string, network: string, receivedAmount: Decimal}>, fiat: list<array{count: int, fee: Decimal, fiatAmount: Decimal, fiatCurrency: FiatCurrency, payoutAmount: Decimal}>}}
 * @phpstan-type SimulatePayer array{scenario: 'full'|'partial'|'over'|'late'}
 * @phpstan-type Statistics array{by: list<string>, from: string, groups: list<StatisticsGroup>, to: string, totals: StatisticsFigures}
 * @phpstan-type StatisticsAmounts array{fee: Decimal, fiatAmount: Decimal, fiatCurrency: FiatCurrency, payoutAmount: Decimal, settledAmount: Decimal}
 * @phpstan-type StatisticsAnswer array{statistics: Statistics, success: true}
 * @phpstan-type StatisticsFigures array{amounts: list<StatisticsAmounts>, count: int, ended: int, secondsToSettle: Decimal|null, settled: int, settledUsd: Decimal, settledWithin: SettledWithin, successRate: Decimal|null, transactionUsd: Decimal}
 * @phpstan-type StatisticsGroup array{amounts: list<StatisticsAmounts>, count: int, ended: int, secondsToSettle: Decimal|null, settled: int, settledUsd: Decimal, settledWithin: SettledWithin, successRate: Decimal|null, transactionUsd: Decimal, day?: string, fiatCurrency?: FiatCurrency, network?: string, status?: PaymentStatus, type?: PaymentType}
 * @phpstan-type Tier 'standard'|'premium'|'unlimited'
 * @phpstan-type Timeline array{entries: list<TimelineEntry>, id: string, reference: string}
 * @phpstan-type TimelineAnswer array{success: true, timeline: Timeline}
 * @phpstan-type TimelineEntry array{at: string, kind: 'status'|'quote'|'transfer'|'payout'|'refund', payout?: TimelinePayout, quote?: TimelineQuote, refund?: TimelineRefund, status?: TimelineStatus, transfer?: TimelineTransfer}
 * @phpstan-type TimelinePayout array{amount: Decimal, attempt: int, currency: FiatCurrency, endedAt: string|null, id: string, reference: string, sentAt: string|null, status: string}
 * @phpstan-type TimelineQuote array{charge: Charge, crypto: string, cryptoAmount: Decimal, depositAddress: string, expiresAt: string, fiatAmount: Decimal, fiatCurrency: FiatCurrency, network: string, rate: Decimal}
 * @phpstan-type TimelineRefund array{address: string, amount: Decimal, confirmedAt: string|null, createdAt: string, crypto: string, explorerUrl: string|null, id: string, network: string, status: RefundStatus, txHash: string|null, failure?: string}
 * @phpstan-type TimelineStatus array{exception: PaymentException, status: PaymentStatus}
 * @phpstan-type TimelineTransfer array{amount: Decimal, blockHeight: int|null, confirmations: int, crypto: string, explorerUrl: string|null, minedAt: string|null, network: string, requiredConfirmations: int|null, reverted: bool, txHash: string}
 * @phpstan-type UpdateReport array{status: ReportStatus, adminNotes?: string|null, confirmer?: string|null}
 * @phpstan-type VerifyReceiver array{accountNumber: string, bankCode: string, fiatCurrency?: 'NGN'|'GHS'|'KES'|'ZAR'|''|null, reference?: string|null}
 * @phpstan-type Wallet array{address: string, amount: string, confirmations: int, createdAt: string, crypto: string, expiresAt: string, id: string, metadata: Metadata, network: string, status: WalletStatus}
 * @phpstan-type WalletAnswer array{success: true, wallet: Wallet}
 * @phpstan-type WalletCreatedAnswer array{success: true, wallet: array{address: string, createdAt: string, crypto: string, expiresAt: string, id: string, metadata: Metadata, network: string, status: 'watching'}}
 * @phpstan-type WalletDeposit array{amount: string, blockHeight: int, confirmations: int, counted: bool, crypto: string, firstSeenAt: string, network: string, status: 'seen'|'confirmed'|'reverted', txHash: string}
 * @phpstan-type WalletDepositListAnswer array{deposits: list<WalletDeposit>, pagination: Pagination, success: true}
 * @phpstan-type WalletEvent array{createdAt: string, data: array{wallet: array{address: string, amount: string, confirmations: int, createdAt: string, crypto: string, expiresAt: string, id: string, metadata: Metadata, network: string, sequence: int, status: WalletStatus}}, id: string, mode: Mode, type: 'wallet.watching'|'wallet.deposit_detected'|'wallet.confirmed'|'wallet.swept'|'wallet.expired'}
 * @phpstan-type WalletItem array{address: string, amount: string, confirmations: int, createdAt: string, crypto: string, id: string, network: string, status: WalletStatus}
 * @phpstan-type WalletListAnswer array{pagination: array{limit: int, offset: int, returned: int, hasMore?: bool, nextCursor?: string|null}, success: true, wallets: list<WalletItem>}
 * @phpstan-type WalletStatus 'watching'|'deposit_detected'|'confirmed'|'swept'|'expired'
 * @phpstan-type WalletWithdrawal array{address: string, addressId: string, amount: string, confirmedAt: string|null, createdAt: string, crypto: string, fee: string, id: string, network: string, status: RefundStatus, txHash: string|null, cancellation?: 'requested'|'too_late', failure?: string}
 * @phpstan-type WalletWithdrawalAnswer array{success: true, withdrawal: WalletWithdrawal}
 * @phpstan-type WalletWithdrawalEvent array{createdAt: string, data: array{withdrawal: array{address: string, addressId: string, amount: string, confirmedAt: string|null, createdAt: string, crypto: string, fee: string, id: string, network: string, sequence: int, status: RefundStatus, txHash: string|null, cancellation?: 'requested'|'too_late', failure?: string}}, id: string, mode: Mode, type: 'wallet.withdrawal_requested'|'wallet.withdrawal_approved'|'wallet.withdrawal_signing'|'wallet.withdrawal_sent'|'wallet.withdrawal_confirmed'|'wallet.withdrawal_failed'}
 * @phpstan-type WalletWithdrawalFeesAnswer array{fees: list<array{crypto: string, fee: string, minimum: string, network: string, open: bool}>, success: true}
 * @phpstan-type WalletWithdrawalsAnswer array{pagination: Pagination, success: true, withdrawals: list<WalletWithdrawal>}
 * @phpstan-type WebhookAttempt array{at: string, class: string, excerpt: string, excerptEncoding: 'utf8'|'base64', latencyMs: array{connect: Decimal, dns: Decimal, tls: Decimal, total: Decimal, wait: Decimal}, number: int, status: int|null, trigger: 'auto'|'manual'|'replay'|'probe'}
 * @phpstan-type WebhookDelivery array{attemptCount: int, attempts: list<WebhookAttempt>, createdAt: string, endpointId: string|null, eventId: string, finishedAt: string|null, id: string, nextAttemptAt: string|null, objectId: string, sequence: int, status: 'pending'|'retrying'|'held'|'delivered'|'exhausted', type: EventTypeName, url: string}
 * @phpstan-type WebhookDeliveryAnswer array{delivery: WebhookDelivery, success: true}
 * @phpstan-type WebhookDeliveryListAnswer array{deliveries: list<WebhookDelivery>, pagination: Pagination, success: true}
 * @phpstan-type WebhookEndpoint array{createdAt: string, description: string, disabledAt: string|null, disabledReason: 'merchant'|'gone'|'failing'|null, enabled: bool, failingSince: string|null, id: string, types: list<EventTypeName>, updatedAt: string, url: string}
 * @phpstan-type WebhookEndpointAnswer array{endpoint: WebhookEndpoint, success: true}
 * @phpstan-type WebhookEndpointCreate array{url: string, description?: string|null, enabled?: bool|null, types?: list<EventTypeName>|null}
 * @phpstan-type WebhookEndpointDeletedAnswer array{deleted: true, id: string, success: true}
 * @phpstan-type WebhookEndpointListAnswer array{endpoints: list<WebhookEndpoint>, pagination: Pagination, success: true}
 * @phpstan-type WebhookEndpointPatch array{description?: string|null, enabled?: bool|null, types?: list<EventTypeName>|null, url?: string|null}
 * @phpstan-type WebhookReplayAnswer array{replay: array{createdAt: string|null, endpointId: string|null, from: string, id: string|null, sent: int, state: 'dry_run'|'running'|'paused'|'finished', statuses: list<'exhausted'|'delivered'>, to: string, total: int, types: list<EventTypeName>}, success: true}
 * @phpstan-type WebhookReplayCreate array{from: string, dryRun?: bool|null, endpointId?: string|null, status?: 'exhausted'|'delivered'|'all'|null, to?: string|null, types?: list<EventTypeName>|null}
 * @phpstan-type WebhookRetryAnswer array{delivery: array{id: string, status: 'retrying'}, success: true}
 * @phpstan-type WebhookRotation array{revokePrevious?: bool|null}
 * @phpstan-type WebhookSecretAnswer array{createdAt: string, previous: array{expiresAt: string}|null, success: true, secret?: string}
 * @phpstan-type Withdrawal array{amount: Decimal, createdAt: string, currency: FiatCurrency, endedAt: string|null, id: string, receiver: SettlementReceiver, settlementAccountId: string, status: WithdrawalStatus, failure?: string}
 * @phpstan-type WithdrawalAnswer array{success: true, withdrawal: Withdrawal}
 * @phpstan-type WithdrawalEvent array{createdAt: string, data: array{withdrawal: array{amount: Decimal, createdAt: string, currency: FiatCurrency, endedAt: string|null, id: string, receiver: SettlementReceiver, sequence: int, settlementAccountId: string, status: WithdrawalStatus, failure?: string}}, id: string, mode: Mode, type: 'withdrawal.requested'|'withdrawal.approved'|'withdrawal.sending'|'withdrawal.paid'|'withdrawal.failed'|'withdrawal.returned'}
 * @phpstan-type WithdrawalStatus 'requested'|'approved'|'sending'|'paid'|'failed'|'returned'
 * @phpstan-type WithdrawalsAnswer array{pagination: Pagination, success: true, withdrawals: list<Withdrawal>}
 * @phpstan-type WebhookEvent AddressBookEvent|EndpointEvent|PaymentEvent|ReportEvent|SettlementAccountEvent|WalletEvent|WalletWithdrawalEvent|WithdrawalEvent
 * @phpstan-type ErrorCode 'above_maximum'|'address_book_full'|'address_known'|'address_not_found'|'already_paused'|'already_settled'|'amount_above_owed'|'amount_below_minimum'|'amount_out_of_range'|'api_key_ambiguous'|'api_key_expired'|'api_key_in_use'|'api_key_invalid'|'api_key_missing'|'api_key_no_heir'|'api_key_not_found'|'api_key_revoked'|'approval_invalid'|'approval_open'|'approval_outdated'|'approval_required'|'assertion_invalid'|'balance_unavailable'|'body_too_large'|'body_too_slow'|'body_unreadable'|'busy'|'cancel_too_late'|'capacity'|'currency_not_enabled'|'daily_limit_exceeded'|'day_not_closed'|'dead_message_not_found'|'dead_message_refused'|'delivery_not_found'|'deposit_attributed'|'deposit_not_final'|'deposit_not_found'|'deposit_reorged'|'endpoint_disabled'|'endpoint_limit'|'endpoint_not_found'|'fee_changed'|'fee_schedule_not_found'|'gift_already_claimed'|'gift_cancelled'|'gift_expired'|'gift_not_claimable'|'headers_too_large'|'hint_not_needed'|'idempotency_in_progress'|'idempotency_key_reused'|'identity_invalid'|'insufficient_balance'|'internal'|'invalid_json'|'invalid_report_id'|'invalid_settlement_token'|'ip_not_allowed'|'key_is_console'|'key_required'|'keys_unavailable'|'live_disabled'|'merchant_changed'|'merchant_exists'|'merchant_in_shards'|'merchant_is_suspended'|'merchant_name_fixed'|'merchant_not_approved'|'merchant_not_found'|'merchant_not_suspended'|'merchant_reference_used'|'merchant_suspended'|'merchant_unknown'|'method_not_allowed'|'money_unclaimed'|'month_archived'|'name_service_unavailable'|'network_not_enabled'|'network_not_scanned'|'network_unavailable'|'network_unknown'|'no_address'|'no_failed_payout'|'no_refund_address'|'no_such_payout'|'not_a_gift'|'not_a_request'|'not_accused'|'not_closed'|'not_confirmed'|'not_expirable'|'not_in_review'|'not_payable'|'not_possible'|'not_settled_by_caller'|'nothing_confirmed'|'nothing_owed'|'operator_required'|'operator_token_ended'|'operator_token_expired'|'operator_token_invalid'|'operator_token_missing'|'operator_token_not_found'|'operator_token_not_yours'|'operator_token_used'|'operator_tokens_too_many'|'operators_unavailable'|'overloaded'|'owed_too_shortly'|'passkey_by_token'|'passkey_known'|'passkey_not_found'|'passkeys_too_many'|'pause_not_found'|'payment_changed'|'payment_elsewhere'|'payment_exists'|'payment_link_busy'|'payment_link_closed'|'payment_link_not_found'|'payment_not_found'|'payout_amount_differs'|'payout_concluded'|'payout_in_flight'|'payout_not_found'|'payout_not_made'|'payout_not_sent'|'payout_sent_again'|'permission_missing'|'quotes_paused'|'rail_not_found'|'rate_limited'|'rate_unavailable'|'receiver_forgotten'|'reference_required'|'refund_address_changed'|'refund_address_held'|'refund_address_internal'|'refund_address_not_needed'|'refund_address_not_proposed'|'refund_address_refused'|'refund_address_unfit'|'refund_begun'|'refund_decided'|'refund_differs'|'refund_not_cancellable'|'refund_not_found'|'refund_open'|'refund_unverified'|'refunds_closed'|'refunds_paused'|'replay_limit'|'replay_not_found'|'report_not_found'|'request_already_fulfilled'|'request_cancelled'|'request_expired'|'rescan_under_way'|'rotation_limit'|'route_not_found'|'sanctions_list_outdated'|'screening_unavailable'|'second_operator_required'|'service_unavailable'|'settlement_account_confirmed'|'settlement_account_currency'|'settlement_account_differs'|'settlement_account_held'|'settlement_account_not_found'|'settlement_account_removed'|'settlement_account_unconfirmed'|'shard_missing'|'shard_unknown'|'signature_expired'|'signature_invalid'|'signature_missing'|'signature_replayed'|'signatures_unavailable'|'sweep_busy'|'sweep_not_found'|'timeout'|'token_by_token'|'too_many_groups'|'too_many_guesses'|'too_many_keys'|'too_many_payment_links'|'too_many_proposals'|'too_many_reports'|'too_many_settlement_accounts'|'too_many_transactions'|'too_many_withdrawals'|'transaction_used'|'transition_refused'|'treasury_not_ready'|'type_not_enabled'|'unclaimed_not_found'|'unclaimed_returned'|'unsupported_media_type'|'unsupported_pair'|'upstream_failed'|'upstream_timeout'|'upstream_unavailable'|'url_too_long'|'validation_failed'|'wallet_not_found'|'window_open'|'withdrawal_address_held'|'withdrawal_address_internal'|'withdrawal_address_refused'|'withdrawal_address_removed'|'withdrawal_decided'|'withdrawal_not_cancellable'|'withdrawal_not_found'|'withdrawals_closed'|'withdrawals_paused'
 */
final class Types
{
    /** `object.field` of each whole number of an answer. Every other number is a Decimal. */
    public const INTEGERS = [
        'address.sequence' => true,
        'attempts.number' => true,
        'attempts.status' => true,
        'crypto.count' => true,
        'cryptos.decimals' => true,
        'data.limit' => true,
        'data.offset' => true,
        'data.total' => true,
        'deliveries.attemptCount' => true,
        'deliveries.sequence' => true,
        'delivery.attemptCount' => true,
        'delivery.sequence' => true,
        'deposit.confirmations' => true,
        'deposits.blockHeight' => true,
        'deposits.confirmations' => true,
        'endpoint.sequence' => true,
        'fiat.count' => true,
        'groups.count' => true,
        'groups.ended' => true,
        'groups.settled' => true,
        'key.id' => true,
        'limits.burst' => true,
        'limits.perSecond' => true,
        'networks.confirmations' => true,
        'pagination.limit' => true,
        'pagination.offset' => true,
        'pagination.returned' => true,
        'payment.confirmations' => true,
        'payment.requiredConfirmations' => true,
        'payment.sequence' => true,
        'paymentLink.usageLimit' => true,
        'paymentLink.uses' => true,
        'paymentLinks.usageLimit' => true,
        'paymentLinks.uses' => true,
        'payments.confirmations' => true,
        'payout.attempt' => true,
        'rates.ageSeconds' => true,
        'rates.sources' => true,
        'rates.spreadBps' => true,
        'replay.sent' => true,
        'replay.total' => true,
        'report.apiKeyId' => true,
        'report.id' => true,
        'report.sequence' => true,
        'reports.apiKeyId' => true,
        'reports.id' => true,
        'settledWithin.day' => true,
        'settledWithin.fiveMinutes' => true,
        'settledWithin.hour' => true,
        'settledWithin.minute' => true,
        'settlementAccount.sequence' => true,
        'totals.count' => true,
        'totals.ended' => true,
        'totals.settled' => true,
        'transfer.blockHeight' => true,
        'transfer.confirmations' => true,
        'transfer.requiredConfirmations' => true,
        'transfers.confirmations' => true,
        'wallet.confirmations' => true,
        'wallet.sequence' => true,
        'wallets.confirmations' => true,
        'withdrawal.sequence' => true,
    ];
}
