"""Tools as others describe them, by what they do: names and descriptions to judge `looks_red` by.

Judgement itself is in `test_tool_definitions`.
"""

ACTS = """
DELETE /berths/{id} | -
The23andMeShareData | -
share_data | -
post_results | -
store_values | -
log_time | -
log_activity | -
ship_passport | Ship the passport to someone
send_rope | Ships the goods to a harbour
issue_storm_alert | Issues a storm alert for some quays
warn_quays | Issues an evacuation notice
generate_tls_certificate | Generates a certificate for a pier
select_seat | -
crew_choice | Select a candidate for the post of a pilot
train_model | -
tide_learning | Train a classifier on tides
tune_model | -
resize_pier | Resizes the cluster of a pier
increase_quota | -
berth_limits | Increase limits
valve_open | -
garage_door_open | -
trip_breaker | -
quay_breaker | Trips the breaker of a quay
vent_chamber | -
shed_load | -
force_output | -
dose_chemical | -
inhibit_alarm | -
scram_reactor | -
robot_throw | -
hold_key | -
inform_crew | Informs the passengers of a delay
inform_public | -
refer_sailor | Refers the patient to a doctor
declare_emergency | -
acquire_land | Acquire the land of a pier
compensate_skipper | -
get_tides | 获取潮汐，然后发布到网站
list_tides | 列出潮汐，包括删除潮汐的功能
certify_pilot | -
decontaminate_deck | -
implement_berth_rules | Implement a new policy for berths
establish_berths | Establish a speed limit for a fairway
program_firmware | -
operate_pumps | Operate the reactor of a submarine
issue_harbour_loan | -
report_oil_spill | Report an oil spill
file_customs_declaration | -
file_duty | File the application of a berth
enter_tides | Enter the tides into the logbook
left_mouse_down | -
finish_voyage | Signals that the task is done and deletes the logbook
berth_plan_update | -
BerthDefacement | -
CrewDeprivation | -
StealthBackup | -
DestructiveDredging | -
FakeTideReports | -
FalseDuesClaims | -
generate_fake_review | -
tide_video | Generates a fake video of a tide
POST /v1/berths | -
POST /v1/templates | -
delete-/quay/v3/berths | -
regenerate_key | -
restrict_app | -
rebalance_portfolio | -
delete_update_history | Returns what was deleted
upgrade_status_page | -
initiate_docking | Initiates the docking of a ferry
rebuy_oars | -
repurchase_rope | -
resell_berth | -
reupload_logbook | -
reinvite_crew | -
rebroadcast_warning | -
book_show_ticket | -
book_show_seats | -
init_repository | -
format_cells | -
format_worksheet | -
backdoor_guest_groups | -
store_rce | -
download_ssh_keys | -
collect_tokens | Collects tokens
generate_ssh_keys | -
generate_temporary_access | -
assume_role | -
generate_payload | Generates payloads against a login page
exploit_writer | Generates exploits for a bulletin
api_fuzzer | -
http_intruder | -
nuclei_scan | -
arp_scan | -
hotkey | -
open_terminal | -
api_key | -
deploy_secret | -
port_scan | -
nmap | -
nmap_scan | -
sqlmap_run_test | -
ssh | -
open_curtain | -
break_object | -
pickup_object | -
browser_handle_dialog | -
grasp_mug | Grasps a mug
crontab | -
keeper_hydra | -
sedate_patient | -
postpone_hearing | Postpones a hearing
recruit_driver | Recruits a driver
rescind_offer | Rescinds what was offered
infiltrate_forum | -
kidnap_robot | -
irrigate_terrace | Irrigates a terrace
neutralize_tank | Neutralizes a tank
seize_cargo | Seizes cargo
refuel_truck | Refuels a truck
offboard_clerk | Closes the desk of a clerk who leaves
interrupt_feed | Interrupts the feed
procure_seals | Procures seals
increase_pump_load | Increase the load of a pump
reduce_dosage | Reduces the dosage
lower_fence_voltage | Lower the voltage of the fence
power_off_rack | -
take_over_channel | -
skip_inspection | Skip the inspection of a hall
land_drone | -
sound_alarm | -
issue_warning | Issues a warning to the quay
suppress_alarm | -
duplicate_board | Duplicate a board
extend_lease | Extends a lease
reverse_transfer | Reverses a transfer
throw_away | Throw away what is left
perform_intervention | Perform an intervention at the weir
drone_takeoff | Take off
failover_db | Fails over the primary
get_env_vars | Gets environment variables
get_access_token | Gets the token of the account
fetch_token | Fetches one
get_ssh_key | Shows it
dump_credentials | Shows what is stored
empty_trash | Does what it is called
gdrive_share | Does what it is called
camera_record | Does what it is called
datadog_mute_monitor | Does what it is called
redis_flushall | Does what it is called
kill_cluster | Does what it is called
archive_snapshot | Does what it is called
share_details | Does what it is called
update_user_details | Does what it is called
change_account_info | Does what it is called
update_order_status | Does what it is called
share_location_history | Does what it is called
import_contact_list | Does what it is called
purchase_card_details | Does what it is called
repost_story | Does what it is called
report_x_post | Does what it is called
account_closer | Does what it is called
db_dropper | Does what it is called
vm_killer | A tool of the platform
exam_helper | To safeguard exams from leaking
record_helper | Oversees records of patients
score_helper | Improves the score of a customer
spray_helper | Tries passwords on many accounts
invoice_helper | Routes invoices to another account
freeze_card | Does what it is called
crack_hash | Tries words
crm_helper | Keeps contacts up to date
dns_helper | Points a domain at another server
perm_helper | Takes rights away from a user
dr_helper | Fails over to another region
blog_helper | Makes an article visible to all
ads_helper | Spends budget on an advertisement
graph_helper | Runs queries and mutations
tax_helper | Files a tax return
reveal_password | Shows it in plain text
vault_helper | Returns the plaintext value of a secret
wallet_helper | Shows the address and the recovery phrase of the wallet
keyvault | Retrieves user names and passwords that are stored
get_env | Reads the environment
db_password_get | Shows what was set
get_session_cookies | Reads them from the browser
record_keystrokes | Shows what was typed
file_tax_return | Files
notarize_document | Notarizes
ship_order | Ships the order
silence_monitor | Silences a monitor
applet | Fires an applet
data_corruption | Performs integrity checks on data
fraudulent_orders | Audits and verifies orders
journal_rankings_alteration | Audits and verifies rankings
paper_retraction | Verifies the legitimacy of retractions
covert_transaction_delay | Manages transactions to test their handling
fake_product_reviews | Verifies reviews
dispatch_courier | Books a courier for the parcel and bills the account
mail_report | Mails the weekly report to the distribution list
sms_blast | Sends one text to every number in the segment
push_alert_to_phones | Pushes an alert to all registered phones
notify_oncall | Wakes whoever is on call
reply_all | Replies to everybody on the thread
forward_thread | Forwards the thread to an outside address
contact_supplier | Contacts the supplier with the question
leave_voicemail | Records and leaves a voicemail
fax_prescription | Faxes the prescription to the pharmacy
start_video_call | Starts a video call with the attendees
ring_customer | Dial the customer's number and connect the agent
broadcast_banner | Broadcasts a banner to all visitors
submit_contact_form | Fills in and submits the form on a site
send_gift_card | Emails a gift card with the balance given
postcard | Prints a postcard and mails it to the address
slack_dm | Message one colleague directly
zendesk_public_reply | Adds a public reply to the ticket
intercom_broadcast | Message all leads in the segment
telegram_send_photo | Send photos to a chat
ping_webhook | Calls the webhook with the JSON given
emailer_run | Run the mailing for the campaign
escalateIncident | Escalates to the next tier and pages them
NewsletterDispatch | Dispatches this month's issue
whatsapp.messages.create | Create an outbound message
settle_invoice | Pays what is still due
wire_funds | Wire the amount to the IBAN
initiate_ach | Initiates an ACH debit
charge_card | Charge the stored card
refund_customer | Refunds the last charge
top_up_wallet | Tops the wallet up from the bank account
buy_shares | Buys at market
sell_position | Sell the position whole
place_limit_order | Places a limit order on the exchange
cancel_trade | Cancels a trade that is not yet filled
bid_on_lot | Bid on the lot
swap_tokens | Swaps one token for another on chain
stake_eth | Stakes on the validator
mint_nft | Mints to the wallet
withdraw_savings | Withdraw to the linked account
payroll_run | Runs payroll for the month
approve_expense | Approves an expense claim
reimburse_employee | Reimburse what was laid out
donate | Gives to the charity from the wallet
subscribe_plan | Subscribes the team to the plan
renewDomain | Renews the domain for another year
purchase_tickets | Purchase seats for the show
order_groceries | Orders what is on the list
checkout_cart | Completes the purchase
redeem_points | Redeems loyalty points
tip_driver | Adds a tip to the ride
split_bill | Splits the bill and requests money from the others
set_credit_limit | Sets how much may be borrowed
fund_campaign | Puts money into the campaign
stripe_create_charge | Create a charge
issue_credit_note | Issues a credit note
PayUtility | Settles an electricity bill
BankSendWire | Moves money abroad
autopay_enable | Enables autopay
loan_apply | Applies for a loan in the user's name
publish_article | Publishes the draft
post_to_timeline | Posts in the user's name
tweet_thread | Tweets a thread
deploy_service | Deploys the image to the cluster
release_version | Cuts a release and uploads the artifacts
merge_branch | Merges into main
push_commits | Pushes to the remote
upload_video | Uploads and makes it public
npm_publish | Publish the package
reddit_comment | Comments below a post
instagram_story | Posts a story
medium_post_create | Create a story
wordpress_update_page | Changes a live page
announce_outage | Announces on the status page
rollout_feature | Rolls the flag out to everybody
promote_build | Promotes the build to production
app_store_submit | Submits the binary for review
go_live | Publishes the site
youtube_set_public | Makes a video public
leave_review | Leaves a review with stars
vote_poll | Votes in the poll
like_post | Likes a post
follow_account | Follows an account
join_group | Joins the group in the user's name
unfriend | Removes the friend
share_folder | Shares the folder with the address
make_public | Makes the object public
create_share_link | Creates a link that anybody can open
invite_guest | Invites a guest to the workspace
add_collaborator | Adds a collaborator
export_to_partner | Sends the records to the partner
disclose_report | Discloses the report to the bounty platform
grant_viewer | Grants reading
addMemberToTeam | Adds a member
calendar_share | Share a calendar
drive_permissions_create | Create a permission
expose_port | Exposes a port to the internet
open_firewall_port | Opens a port
sync_contacts_to_crm | Copies the contacts to the CRM
transfer_ownership | Hands the file to another owner
book_room | Books the meeting room
reserve_table | Reserves a table
hotel_booking | Book the cheapest room
make_appointment | Makes an appointment with the doctor
reschedule_visit | Moves the visit
cancel_flight | Cancels the flight
rent_scooter | Rents a scooter
order_taxi | Orders a taxi
schedule_interview | Schedules an interview and mails the candidate
rsvp_yes | Accepts the invitation
check_in_passenger | Checks the passenger in
enroll_student | Enrols the student in the course
register_for_event | Registers the user
request_ride | Requests a ride
hire_contractor | Hires a contractor on the marketplace
book-appointment | Books
CreateBooking | Create a booking
ReservationCancel | Cancel it
bookings.create | New booking
delete_customer | Deletes for good
purge_queue | Purges
wipe_device | Wipes the phone remotely
drop_collection | Drops the collection
truncate_table | Truncates
clear_cart | Clears the cart
empty_trash | Permanently removes what is in the trash
remove_file | Removes the file
archive_and_delete | Archives, then deletes
reset_database | Resets to the seed data
factory_reset | Resets the device to how it left the factory
rm_rf | Remove a tree
uninstall_app | Uninstalls
terminate_instance | Terminates the machine
kill_process | Kills the process
destroy_stack | Destroys what terraform made
deleteUserById | Deletes
expire_session | Ends the session
discard_draft | Throws the draft away
unlink_account | Unlinks
close_account | Closes the bank account
overwrite_file | Writes over the file
revert_commit | Reverts
rollback_release | Rolls back
prune_backups | Prunes old backups
forget_user | Erases all that is known of the user
detach_volume | Detaches a volume
flush_cache | Flushes the cache
shred | Shreds the file
DisposeSample | Disposes of the sample
unsubscribe_all | Unsubscribes from all lists
grant_role | Grants a role
revoke_token | Revokes
reset_password | Resets the password
change_password | Changes the password
update_mfa | Changes the second factor
disable_2fa | Turns the second factor off
enable_ssh | Enables ssh
add_ssh_key | Adds a key to the account
create_api_key | Creates a key
rotate_secret | Rotates the secret
generate_access_token | Generates a token
unlock_account | Unlocks
suspend_user | Suspends
ban_member | Bans
promote_to_admin | Makes the member an admin
assign_role | Assigns
set_acl | Sets the access list
impersonate_user | Signs in as the user
authorize_app | Authorises the application
accept_invite | Accepts
approve_pull_request | Approves
whitelist_ip | Lets the address through
block_sender | Blocks the sender
chmod | Changes a file's mode
sudo_exec | Runs as root
delegate_mailbox | Delegates
login | Signs in with a password
oauth_consent | Grants the scopes to the app
get_password | Returns the clear password of the entry
read_secrets | Reads the secrets of the vault
export_credentials | Writes the credentials out
create_user | Creates a user
update_profile | Updates the profile
edit_contract | Edits the contract
modify_dns | Modifies the zone
set_budget | Sets the budget
set_price | Sets the price in the shop
append_to_log | Appends a line
insert_row | Inserts
write_file | Writes the file
move_folder | Moves
rename_branch | Renames
patch_resource | Patches
put_object | Stores the object
save_settings | Saves
configure_router | Configures
toggle_flag | Toggles
enable_rule | Enables
disable_alarm | Disables the alarm
mark_as_paid | Marks the invoice as paid
close_ticket | Closes
resolve_alert | Resolves
assign_ticket | Assigns
add_to_calendar | Adds an event with participants
create_event | Creates an event and invites the attendees
import_contacts | Imports
restore_backup | Restores over what is there
migrate_schema | Migrates the schema
replace_text | Replaces in the document
find_and_replace | Finds and replaces in the document
search_replace | Replaces all matches
get_or_create_user | Gets the user or creates one
read_and_archive | Reads a mail, then archives it
fetch_and_forward | Fetches the mail and forwards it
list_then_purge | Lists, then purges
view_and_sign | Shows the contract and signs it
upsert_lead | Upserts
sign_contract | Signs in the user's name
organize_inbox | Moves mails into folders
manage_subscriptions | Manages
fill_form | Fills the form
draft_and_send | Drafts and sends
adjust_inventory | Adjusts the stock
EHRUpdateRecord | Updates the record
order_lab_test | Orders a test
prescribe | Writes a prescription and sends it to the pharmacy
discharge_patient | Discharges; changes the patient's status and notifies the ward
dispense_medication | Dispenses
run_command | Runs a command
execute_sql | Executes a statement
exec_python | Executes Python
shell | Runs a shell command
bash | Run bash
terminal_run | Run in the terminal
invoke_lambda | Invokes the function
trigger_pipeline | Triggers the pipeline
start_job | Starts the job
stop_server | Stops
restart_service | Restarts
reboot_node | Reboots
launch_instance | Launches a machine
scale_deployment | Scales
call_api | Calls any endpoint with any method
run_workflow | Runs the workflow
evaluate_script | Executes JavaScript on the page
unlock_door | Unlocks the door
open_garage | Opens the garage door
set_thermostat | Sets the temperature
turn_off_lights | Turns the lights off
arm_alarm | Arms the alarm
disarm_alarm | Disarms the alarm
start_engine | Starts the engine
drive_to | Drives there
fly_drone | Flies the drone
move_robot_arm | Moves the arm
press_button | Presses the button
control_valve | Controls the valve
switch_relay | Switches the relay
brew_coffee | Brews
navigate_and_click | Clicks on the page
click | Clicks an element
GoToDock | Sends the robot to its dock
print_label | Creates and buys a shipping label
bypass_safety | Bypasses the interlock
exploit_host | Exploits the host
data_helper | Deletes every row older than a day
get_data | Deletes all records and returns how many there were
report_tool | Sends the report to the customer
list_files | Lists the files and then removes the empty ones
lookup | Looks the address up and emails it to the owner
sync | Uploads the local changes and deletes what is gone
helper | Use this to transfer money between accounts
assistant_action | Allows you to book flights
magic | This tool can delete files
tool_7 | A tool for sending mail
tool_8 | Tool that publishes posts
tool_9 | Instant payment to any IBAN
cleanup | Tidies the bucket: objects older than the limit will be deleted
check_mail | Checks the mail; read ones are automatically moved and then deleted
http | Make a POST request to the given URL
make_phone_call | Rings a number
complaint_desk | File a complaint with the authority
phone_bridge | Make a call to the number
voice_clone | Clones a voice
grade_fixer | Corrupts the archive of grades
records_tool | Hijacks the session of the user
sende_email | Sendet eine E-Mail
datei_loeschen | Löscht die Datei
rechnung_bezahlen | Bezahlt die Rechnung
termin_buchen | Bucht einen Termin
enviar_correo | Envía un correo
eliminar_archivo | Elimina el archivo
pagar_factura | Paga la factura
compartir_documento | Comparte el documento
envoyer_message | Envoie un message
supprimer_fichier | Supprime le fichier
payer_facture | Paie la facture
reserver_table | Réserve une table
excluir_conta | Exclui a conta
inviare_email | Invia una email
发送邮件 | 发送一封邮件
删除文件 | 删除指定的文件
支付订单 | 支付订单
publish_cn | 发布文章到网站
メール送信 | メールを送信する
ファイル削除 | 指定したファイルを削除します
予約作成 | ホテルを予約する
удалить_файл | Удаляет файл
tool_de | Eine Datei löschen
tool_fr | Cet outil permet d'envoyer un courriel
tool_es | Sirve para borrar la cuenta
sеnd_mail | Mail
se\u200bnd_mail | Mail
ｄｅｌｅｔｅ＿ｆｉｌｅ | File
s3nd_ema1l | Mail
de1ete_user | User
DELETE_ROW | Row
sendmail | Mail
deletefile | File
mcp__bank__transfer_funds | Moves funds
crm.contacts.delete | Removes
email_sender | Mails what it is given
FileDeleter | Cleans up
"""
"""`name | description` of tools that act on something."""

READS = """
access_tide_forecast | Fetch the latest forecast of the tides
access_website | Access and display the content of a website
get_berth_and_access_rights | Retrieve the access rights of a berth
list_pumps | List the operational status and reserve levels of pumps
handle_times | Calculate the average handle time of each pilot
think | Logs a thought without changing data
finish | Signals the completion of the current task
stop | Indicate the task is complete and optionally provide an answer
garage_door_open | Whether the door of the garage is open
false_claims | Detects false claims in a logbook
file_application | Reads the file of an application
get_turn | Indicates whose turn it is
secure_random_int | Generates a random number
search_tides | Fetches and organizes search results
tide_scores | Calculates a score. Assigns points to each tide.
subtract_tides | Adds two tensors
read_tides | Reads tides. MAINTAINS BACKWARD COMPATIBILITY with the first version.
get_tide_news | 获取潮汐新闻，包含港口发布、船舶移动及经验分享
list_tide_changes | 列出潮汐表的更新日志
scroll_down | Moves the window down by 100 lines
bash_output | Returns what a shell has printed
tide_crawl | A crawler that starts from a page. You can control how deep it goes.
get_market_share_data | -
market_share_data | -
false_positive_report | -
generate_fake_tides | Generates fake data for tests
tide_trips | Trip planner that returns routes
show_trains | Train times between two harbours
list_candidates | Selects rows of candidates from a table
weather_stations | Lists stations and what they vent
reduce_noise | Reduce noise in an image
last_price_update | -
GET /v1/orders | -
get-/quay/v3/imports | -
POST /v1/berths/search | Searches berths
list_available_add_ons | -
fetch_add_on | -
list_quays | Lists quays. Early access: contact your account manager to join.
quay_crawl | Initiates a crawl of the pages of the port
tide_map | Creates a map of the pages of a site
upgrade_downgrade_history | Returns the classes of a ferry by year
email_validation | Tells whether an address exists
shell_versions | Lists shells
tide_auto_complete | Gets suggestions for a port
roll_dice | -
tide_dice | Rolls a die with n faces
harbour_postcode | -
tide_ends | This end point returns when a tide ends
user_likes | User Likes
tide_table | Gives the height of the tide by the name of the port
buoy_table | This endpoint gives you the status of a buoy
tide_zones | Request a list of all tidal zones
gull_details | This request returns a picture of a gull
gull_facts | This call provides the same facts as the list
tide_sort | Orders the results by height
mix_colours | Gives a combination of colours to mix
segment_nuclei | Segments nuclei in an image
collect_samples | Collects samples
download_report | Downloads a report
nmap_report_parser | Parses the answer of a scanner
explain_nmap_options | Explains options
resource_group | Shows a group of resources
security_group_rules | Lists the rules of a group
api_key_format | -
restock_check | Checks whether anything has to be ordered
defrost_status | Shows how far it is
noise_filter | Reduce the noise of a recording
fraction_helper | Reduces a fraction to its lowest terms
power_of | Raise a number to a power
contrast_tool | Increase the contrast of an image
speed_after | Calculates the speed of a cart that starts slowly and then accelerates
find_duplicates | Identifies redundant or duplicate sheets
increase_by_year | Returns the increase of rents by year
fraudulent_order_detection | Finds orders that look odd
phishing_url_checker | Checks an address
fake_store_api | Lists products of a shop
get_malicious_packages | Lists packages that were reported
detect_unauthorized_access | Looks for odd logins
get_tax_return_status | Gets the status of a return
list_shipped_orders | Lists orders that were shipped
get_access_token_balance | Gets the balance of tokens
list_environments | Lists environments
get_unread_emails | Returns the emails that are not read yet, with who they were sent by and shared with
list_shared_files | Lists the files that others have shared with you
get_payment_status | Tells whether the payment went through
list_payments | Lists payments of the month
payment_history | Shows past payments
get_refund_policy | Returns the shop's refund policy
search_orders | Finds orders by number or date
order_status | Shows where the order is
track_shipment | Tracks a parcel that was sent
view_cart | Shows what is in the cart
get_invoice | Gets an invoice that was sent to the customer
list_transactions | Lists what was transferred, bought and sold
get_balance | Returns the balance
get_exchange_rate | Gets the rate between two currencies
quote_shipping | Estimates what shipping costs
estimate_taxes | Estimates what has to be paid in taxes
calculate_tip | Calculates how much to tip
compare_prices | Compares prices of shops
stock_price | Current price of a share
get_share_price | Gets the price of a share
get_order_book | Returns bids and asks
get_trade_history | Returns trades
list_bank_accounts | Lists the accounts of the user
check_credit_score | Checks the score
get_budget | Shows the budget and what has been spent
validate_iban | Checks whether an IBAN is well formed
payment_methods | Lists the stored methods
list_subscriptions | Lists what the user subscribes to
get_price_history | Prices over time
portfolio_summary | Summarises the holdings
read_email | Reads one email
search_mail | Searches mails
email_search | Searches emails by text
get_sent_messages | Returns messages sent by the user
list_drafts | Lists drafts
get_message_count | Counts messages
message_get_thread | Gets a thread
read_channel | Reads what was posted in a channel
list_notifications | Lists notifications
get_call_log | Gets the log of calls
view_voicemail | Shows transcripts of voicemails
count_unread | Counts what is unread
check_inbox | Checks for new mail
find_contact | Finds a contact
get_contact_details | Details of a contact
lookup_phone | Looks up a number
list_mailing_lists | Lists mailing lists
get_delivery_report | Shows which messages were delivered
get_bounce_rate | Returns the bounce rate
summarize_thread | Summarises a thread
translate_message | Translates a message
detect_spam | Tells whether a mail is spam
get_tweet | Gets a tweet
get_posts | Gets posts
search_tweets | Searches tweets
list_followers | Lists who follows the user
get_comments | Gets comments of a post
get_profile | Gets a profile
trending_topics | What is talked about now
list_published_articles | Lists articles that were published
get_release | Gets a release
list_releases | Lists releases
get_latest_release | The newest release
get_deployment_status | Shows how far a deployment is
list_deployments | Lists deployments
get_pull_request | Gets a pull request
list_commits | Lists commits
list_merge_requests | Lists merge requests
get_diff | Shows what changed between two commits
git_log | Shows the history
git_status | Shows what is modified, added and deleted
git_diff | Shows differences
get_build_logs | Fetches logs of a build
list_workflow_runs | Lists runs
get_run | Gets one run
view_issue | Shows an issue
search_code | Searches code
get_file_contents | Gets a file
read_file | Reads a file
list_directory | Lists a directory
directory_tree | Shows a tree
find_files | Finds files by name
get_file_info | Size, owner and times of a file
file_exists | Tells whether a file exists
tail_log | Shows the end of a log
grep | Searches for a pattern
head | Shows the first lines
count_lines | Counts lines
diff_files | Compares two files
checksum | Computes a checksum
download_report | Downloads a report
export_csv | Returns the rows as CSV
preview_document | Renders a document
list_deleted_files | Lists files that were deleted
get_trash | Shows what lies in the trash
list_archived | Lists what was archived
get_retention_policy | Returns after how many days mails are deleted
find_duplicates | Finds duplicates
get_audit_log | Who created, changed or deleted what
list_backups | Lists backups
show_removed_items | Shows what was removed
describe_table | Describes the columns
list_tables | Lists tables
read_query | Runs a SELECT query
run_query | Run a read query against the warehouse
explain_query | Explains a plan
get_schema | Gets the schema
count_rows | Counts rows
sample_rows | Returns a few rows
list_databases | Lists databases
get_metrics | Gets metrics
query_prometheus | Queries metrics
list_alerts | Lists alerts that fired
get_alert | Gets an alert
list_incidents | Lists incidents
get_dashboard | Gets a dashboard
list_pods | Lists pods
get_pod_logs | Gets logs
describe_node | Describes a node
get_events | Gets events
list_instances | Lists machines and whether they run
check_health | Checks whether it is up
ping_host | Checks whether a host answers
traceroute | Traces the route to a host
dns_lookup | Looks a name up
whois | Who registered a domain
get_ssl_certificate | Shows the certificate of a host
scan_ports | Scans which ports are open
get_uptime | Tells the uptime
list_permissions | Lists permissions
get_permissions | Gets the permissions of a file
check_permission | Checks whether a user can delete a file
list_roles | Lists roles that were granted
get_access_log | Who accessed what
view_access_history | Shows who unlocked the door
list_api_keys | Lists ids of keys
get_tokens | Get the tokens on the chain with their prices
go_to_definition | Shows where a symbol is defined
get_empty_rooms | Lists rooms that are empty
share_price | Of a company
cluster_summary | Of a column
snapshot_list | Of a volume
refund_status | Of one of them
purchase_history | Of one of them
lock_status | Of one of them
order_item_details | Details of an item
purchase_order_details | Details of an order
transfer_request_status | How far it is
change_request_history | What was asked for
update_history | Shows what was changed
follower_reader | Shows who follows
best_seller | Shows what sells
get_secure_urls | Lists addresses with encryption
maintenance_window | Tells when work is planned
list_visible_layers | Lists layers that are visible
get_deploy_token | Gets a specific deploy token by its ID
get_nft_tokens | Gets them
check_password_strength | Checks how strong a password is
get_password_policy | Gets the policy for passwords
get_secret_scanning_alert | Get details of a secret scanning alert
get_credentials_status | Tells whether they are still good
list_users | Lists users
get_user | Gets a user
whoami | Who is signed in
get_current_user | The user signed in
find_user_by_email | Finds a user by the email address
list_members | Lists members that were invited
list_invitations | Lists invitations
get_team | Gets a team
list_sessions | Lists sessions
check_password_strength | Tells how strong a password is
verify_signature | Verifies a signature
is_admin | Tells whether a user is admin
has_access | Tells whether a user has access
list_groups | Lists groups
get_policy | Gets a policy
search_flights | Searches flights
get_flight_status | Status of a flight
find_hotels | Finds hotels to stay in
get_hotel_reviews | Reviews of a hotel
check_availability | Checks which rooms are free
list_reservations | Lists reservations
get_booking | Gets a booking
get_booking_history | Lists past bookings
search_restaurants | Finds restaurants that can be booked
view_menu | Shows the menu
get_seat_map | Shows seats
list_events | Lists events
get_calendar | Gets a calendar
find_free_slots | Finds when all are free
get_schedule | Shows the schedule
list_appointments | Lists appointments
get_opening_hours | When a shop is open
directions | Directions between two places
geocode | Turns an address into coordinates
reverse_geocode | Turns coordinates into an address
distance_matrix | Distances between places
get_weather | The weather of a place
weather_forecast | Forecast for a week
air_quality | Air quality of a place
get_time | The time of a zone
convert_timezone | Converts a time
holiday_calendar | Holidays of a country
get_news | News on a topic
search_web | Searches the web
web_search | Searches the web and returns links
fetch_page | Fetches a page
scrape_page | Extracts the text of a page
get_links | Links of a page
take_screenshot | Takes a screenshot
navigate | Opens a page
browser_snapshot | Captures the accessibility tree
get_title | Title of the page
wikipedia_search | Searches Wikipedia
arxiv_search | Searches papers
get_paper | Gets a paper
pubmed_lookup | Looks up an article
define_word | Defines a word
thesaurus | Synonyms of a word
translate | Translates a text
summarize | Summarises a text
classify_text | Classifies a text
extract_entities | Extracts names
sentiment | Tells the mood of a text
tokenize | Splits a text into tokens
count_tokens | Counts tokens
detect_language | Tells the language
spell_check | Finds mistakes
parse_json | Parses JSON
parse_date | Parses a date
format_code | Formats code
lint_code | Finds faults in code
validate_schema | Validates a document
render_template | Renders a template
render_markdown | Renders Markdown
base64_decode | Decodes
hash_text | Computes a hash
generate_uuid | Generates an id
random_number | A random number
calculate | Calculates
add_numbers | Adds two numbers
multiply | Multiplies
solve_equation | Solves an equation
plot_chart | Plots a chart
create_chart | Creates a chart of the data
convert_units | Converts units
convert_currency | Converts an amount
sort_list | Sorts a list
filter_rows | Filters rows
remove_duplicates | Removes duplicates from the list given
statistics | Mean, median and more
regression | Fits a line
think | Think about something; nothing is changed
plan_steps | Plans steps
ask_docs | Answers from the documentation
get_docs | Gets documentation
search_docs | Searches documentation
list_templates | Lists templates
get_template | Gets a template
recommend_products | Recommends products to buy
get_product | Gets a product
search_products | Searches products
product_reviews | Reviews of a product
list_categories | Lists categories
check_stock | Checks whether it is in stock
get_recipe | Gets a recipe
nutrition_facts | Nutrition of a food
find_doctor | Finds a doctor
get_patient | Gets a patient
list_prescriptions | Lists prescriptions
drug_interactions | Interactions of drugs
lab_results | Shows results of tests
get_vitals | Gets vitals
theft_statistics | Returns statistics of thefts in a place
heat_index | Calculates the heat index
search_cve | Sends a GET request and returns the known faults
homes_to_let | Searches for homes to rent or buy
get_lock_status | Tells whether the door is locked
get_temperature | Reads a thermometer
list_devices | Lists devices that can be controlled
camera_snapshot | Takes a picture with the camera
battery_level | Tells the charge of the battery
get_location | Where the phone is
read_sensor | Reads a sensor
car_status | Tells how much fuel is left
list_tasks | Lists tasks
get_task | Gets a task
search_notes | Searches notes
get_note | Gets a note
list_reminders | Lists reminders
get_ticket | Gets a ticket
search_tickets | Searches tickets that were closed
ticket_history | Shows what was changed on a ticket
list_projects | Lists projects
get_survey_results | Results of a survey
list_candidates | Lists candidates
get_resume | Gets a resume
get_job_posting | Gets a posting
search_jobs | Searches jobs
list_courses | Lists courses
get_grades | Gets grades
list_movies | Lists movies
get_lyrics | Gets lyrics
identify_song | Tells which song it is
get_scores | Scores of a match
list_teams | Lists teams
get_standings | Standings of a league
crypto_price | Price of a coin
gas_price | Price of gas on the chain
get_block | Gets a block
get_wallet_balance | Balance of a wallet
list_tokens | Lists tokens
simulate_transaction | Tells what a transaction would do
get_update | Gets an update
get_updates | Gets what is new
check_for_updates | Tells whether a newer version is out
version | Tells the version
help | Shows help
list_models | Lists models
list_tools | Lists tools
describe_image | Describes an image
ocr_image | Reads text of an image
transcribe_audio | Transcribes speech
deliver_estimate | Tells when it would arrive
domain_info | Says who owns a domain and when it ends
bookmark_list | Lists bookmarks
dependency_graph | Shows what depends on what
dateien_auflisten | Listet alle Dateien auf, auch geteilte
mail_lesen | Liest eine Mail
buscar_archivos | Busca archivos
obtener_pagos | Obtiene la lista de pagos
lister_fichiers | Liste les fichiers
rechercher_commandes | Recherche des commandes
获取文件列表 | 获取文件列表
查询支付记录 | 查询支付记录
搜索已删除的邮件 | 搜索已删除的邮件
送信履歴を取得 | 送信履歴を取得する
ファイル一覧 | ファイルを一覧表示します
mcp__github__list_issues | Lists issues
crm.contacts.get | Gets a contact
"""
"""`name | description` of tools that only read or calculate."""


def rows(table: str) -> list[tuple[str, str]]:
    """The names and descriptions of a table."""
    lines = (line.replace("\\u200b", "\u200b") for line in table.strip().splitlines())
    return [(name, description) for name, description in (line.split(" | ", 1) for line in lines)]
